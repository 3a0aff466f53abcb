"""What is said of membership attacks, in whichever kind of audit they were played."""
