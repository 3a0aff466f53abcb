#!/bin/sh
# Audits a model before it is released. Exit codes: 0 it may go; 3 a limit was exceeded; 2 the
# audit could not be done.
set -u

python predictions.py || exit 2

privacygauge classifier target.npz --shadow shadow.npz --seed 0 --out audits/model \
    --fail-above accuracy.low=0.55 --fail-above tpr@0.01.low=0.1
code=$?

# The model card is written where the audit was done, whatever it says.
if [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; then
    privacygauge report audits/model --model-card --name triage --dataset visits --out audits/card || exit 2
fi
exit "$code"
