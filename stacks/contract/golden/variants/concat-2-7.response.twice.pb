
other
wwvkteuhjziguwfzjejpll