
wwvkteuhjzi
guwfzjejpll