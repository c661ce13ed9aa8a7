-- The ledger of a results directory, format 2: tables as in format 1, and a seal. doc/formats.md says it in prose.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE runs (          -- each time a lab opened the directory to run
  run INTEGER PRIMARY KEY, started TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
  program TEXT NOT NULL,
  study TEXT NOT NULL, study_sha256 TEXT NOT NULL,   -- file that holds the study as read, that of an earlier run if equal
  overrides TEXT NOT NULL,                           -- JSON array of "path=value"
  facts TEXT NOT NULL, facts_sha256 TEXT NOT NULL    -- file that holds the facts, that of an earlier run if equal
) STRICT;
CREATE TABLE plan (part INTEGER PRIMARY KEY, added TEXT NOT NULL, csv BLOB NOT NULL) STRICT;
CREATE TABLE trials (
  id INTEGER PRIMARY KEY, position INTEGER NOT NULL UNIQUE, block INTEGER NOT NULL, replication INTEGER NOT NULL,
  treatment TEXT NOT NULL,   -- JSON object, factor to level, in the order of the study
  state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'valid', 'invalid'))
) STRICT;
CREATE TABLE attempts (
  trial INTEGER NOT NULL REFERENCES trials, attempt INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'valid', 'invalid', 'interrupted', 'superseded')),
  started TEXT NOT NULL, ended TEXT, host TEXT NOT NULL, pid INTEGER NOT NULL,
  reason TEXT, log TEXT, digest TEXT,
  bench TEXT NOT NULL DEFAULT '', boot TEXT NOT NULL DEFAULT '',   -- empty: the one bench of a study run alone
  PRIMARY KEY (trial, attempt)
) STRICT;
CREATE UNIQUE INDEX never_twice ON attempts (trial) WHERE state = 'valid';
CREATE UNIQUE INDEX one_at_a_time ON attempts (trial) WHERE state = 'running';
CREATE TABLE benches (       -- each time a bench brought facts that differ from its last
  bench TEXT NOT NULL, number INTEGER NOT NULL, since TEXT NOT NULL, facts_sha256 TEXT NOT NULL,
  PRIMARY KEY (bench, number)
) STRICT;
CREATE TABLE files (
  path TEXT PRIMARY KEY, trial INTEGER NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL,
  side TEXT NOT NULL, instrument TEXT NOT NULL, method TEXT NOT NULL,
  "rows" INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
  FOREIGN KEY (trial, attempt) REFERENCES attempts
) STRICT;
CREATE INDEX files_of_trial ON files (trial, attempt);
CREATE TABLE results (       -- the trial table; NULL where a figure does not exist
  trial INTEGER NOT NULL, attempt INTEGER NOT NULL, side TEXT NOT NULL, response TEXT NOT NULL, unit TEXT NOT NULL,
  n INTEGER NOT NULL, mean REAL, sd REAL, median REAL, p95 REAL, min REAL, max REAL,
  method TEXT NOT NULL CHECK (method IN ('measured', 'modelled', 'counted')),
  PRIMARY KEY (trial, attempt, side, response, method),
  FOREIGN KEY (trial, attempt) REFERENCES attempts
) STRICT, WITHOUT ROWID;
CREATE TABLE quality (
  trial INTEGER NOT NULL, attempt INTEGER NOT NULL, key TEXT NOT NULL, value REAL, unit TEXT NOT NULL,
  PRIMARY KEY (trial, attempt, key),
  FOREIGN KEY (trial, attempt) REFERENCES attempts
) STRICT, WITHOUT ROWID;
