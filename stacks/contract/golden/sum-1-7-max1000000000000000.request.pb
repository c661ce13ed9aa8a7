
×LeÉjB