def write(s):
    pass
