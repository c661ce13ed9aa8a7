# Writes benches.csv: the mixed model of benches by lme4 and lmerTest, for designs of benches_designs.csv.
#
#   Debian 12: apt install r-cran-lme4 r-cran-lmertest (lme4 1.1-31, lmerTest 3.1-3)
#   python3 -m venv VENV && VENV/bin/pip install statsmodels==0.15.0 pandas==3.1.1
#   VENV/bin/python benches.py designs && Rscript benches.R && VENV/bin/python benches.py mixedlm
#
# Components: REML of y ~ t + (1|bench) + (1|bench:t) + (1|block). The test of treatment by bench: F of a fixed
# model. For benches like these, equal numbers of blocks: lmerTest's t of the two treatments' model. For these
# benches: the mean over benches of their contrasts, in lm of y ~ t * bench + block, with its residual.
suppressMessages({library(lme4); library(lmerTest)})
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
d <- read.csv(file.path(here, "benches_designs.csv"), comment.char = "#")
options(digits = 15)
ctl <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhobeg = 1e-2, rhoend = 1e-10, maxfun = 200000),
                   calc.derivs = FALSE, check.conv.singular = "ignore")
out <- NULL
for (id in unique(d$design)) {
  x <- d[d$design == id, ]
  x$t <- factor(x$treatment); x$b <- factor(x$bench); x$k <- factor(x$block)
  m <- lmer(y ~ t + (1 | b) + (1 | b:t) + (1 | k), x, control = ctl)
  v <- as.data.frame(VarCorr(m))
  comp <- function(g) v$vcov[v$grp == g]
  fixed <- lm(y ~ k + t + b:t, x)          # blocks are nested in benches
  a <- anova(fixed)
  f <- a[nrow(a) - 1, ]
  two <- droplevels(x[x$treatment %in% c(1, 2), ])
  counts <- table(two$b) / 2
  like <- c(NA, NA, NA)
  if (length(unique(counts)) == 1) {
    s <- summary(lmer(y ~ t + (1 | b) + (1 | b:t) + (1 | k), two, control = ctl))$coefficients
    like <- s["t2", c("Estimate", "Std. Error", "df")]
  }
  # the contrast 2 - 1 of each bench has variance 2 s2 / n; residual of the two treatments' fixed model
  res <- anova(lm(y ~ k + t + b:t, two))["Residuals", ]
  diffs <- tapply(two$y[two$treatment == 2], two$b[two$treatment == 2], mean) -
    tapply(two$y[two$treatment == 1], two$b[two$treatment == 1], mean)
  se <- sqrt(2 * res[["Mean Sq"]] * sum(1 / counts)) / length(counts)
  out <- rbind(out, data.frame(design = id, bench = comp("b"), interaction = comp("b:t"), block = comp("k"),
    error = v$vcov[v$grp == "Residual"], f = f[["F value"]], df1 = f[["Df"]], df2 = a["Residuals", "Df"],
    p = f[["Pr(>F)"]], like = like[1], like_se = like[2], like_df = like[3], these = mean(diffs), these_se = se,
    these_df = res[["Df"]]))
}
path <- file.path(here, "benches.csv")
cat("# made by benches.R:", R.version.string, "lme4", format(packageVersion("lme4")), "lmerTest",
    format(packageVersion("lmerTest")), "\n", file = path)
suppressWarnings(write.table(format(out, digits = 15, trim = TRUE), path, append = TRUE, sep = ",", row.names = FALSE, quote = FALSE))
