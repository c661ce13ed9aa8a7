
wwvkteuhjzi