
other
 ЕSЖю¦R·Xя›Pй.eLZeЖ°3ЁWзШЮьЩu