"""Which noise meets my goal with the least cost, or my budget with the least error?"""
