from .audit import RiskRegister as RiskRegister
from .audit import model_card as model_card
from .audit import risk_register as risk_register
from .comparison.audit import Comparison as Comparison
from .comparison.audit import compare_reports as compare_reports
