/**
 * The tables of the SQLite store and every statement run on them.
 *
 * Measured on two cores with `synchronous=FULL`, 64 lifecycles a batch (create, claim, complete: three documents of 900
 * bytes, ten index entries, three events of 250 bytes); microseconds of CPU per lifecycle, the driver of the measurement
 * included. What decided the layout:
 *
 *   page size 4096 / 8192 / 16384          63 / 59 / 59   16384 writes more log for a lone commit
 *   record keyed directly / by row id      59 / 55        and a document above 2 KB then needs no overflow page
 *   version read first / checked by write  59 / 53
 *   a statement per row / 16 rows at once  59 / 52        see `RowBuffer`
 *   queue names inline / as numbers        59 / 55        kept inline: there are queues per execution, and a table of
 *                                                         names that only grows, or is swept, is not worth 7 %
 *   a row per event / per commit           59 / 56        kept per event: owners are forgotten one by one
 */

/** "FFab": tells our files from those of other programs. */
export const APPLICATION_ID = 0x46466162;

/** The number of this table layout, kept as `user_version`. Not the format of the documents, which is in `meta`. */
export const LAYOUT = 2;

export const PAGE_SIZE = 8192;

/**
 * 16 MB of log between checkpoints. Work of 200 classes writes to as many pages again and again, and with 8 MB it took 1.1 ×
 * as long; that of one class took as long with 8, 16 or 32.
 */
export const CHECKPOINT_PAGES = 2000;

/** Clustered by log: a reader of one never meets the rows of another. */
export const createEventTable = `
CREATE TABLE event (
	partition INTEGER, log TEXT, "commit" INTEGER, place INTEGER, orphan INTEGER NOT NULL, at INTEGER NOT NULL,
	owner TEXT NOT NULL, "group" TEXT NOT NULL, ungrouped INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL,
	PRIMARY KEY (partition, log, "commit", place)
) WITHOUT ROWID;
CREATE INDEX event_of_owner ON event (partition, owner, "commit", place) WHERE orphan = 0;
CREATE INDEX event_of_group ON event (partition, "group", "commit", place) WHERE "group" <> '' AND ungrouped = 0;
CREATE INDEX event_orphaned ON event (partition, at) WHERE orphan = 1;
`;

export const createTables = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE head (partition INTEGER PRIMARY KEY, commits INTEGER NOT NULL, time INTEGER NOT NULL);
CREATE TABLE record (
	id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, doc TEXT NOT NULL,
	UNIQUE (partition, key)
);
CREATE TABLE entry (
	partition INTEGER, queue TEXT, score INTEGER, key TEXT,
	PRIMARY KEY (partition, queue, score, key)
) WITHOUT ROWID;
CREATE TABLE queue_size (
	partition INTEGER, queue TEXT, size INTEGER NOT NULL,
	PRIMARY KEY (partition, queue)
) WITHOUT ROWID;
CREATE TABLE blob (
	id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, key TEXT NOT NULL, bytes BLOB NOT NULL,
	UNIQUE (partition, key)
);
${createEventTable}`;

export const selectTables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage";
export const countTables = "SELECT COUNT(*) FROM sqlite_schema";
export const selectMeta = "SELECT value FROM meta WHERE name = ?";
export const setMeta =
	"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

export const insertHead = "INSERT INTO head (partition, commits, time) VALUES (?, 0, 0)";
export const selectHead = "SELECT commits, time FROM head WHERE partition = ?";
export const selectLatestTime = "SELECT MAX(time) FROM head";
export const updateHead = "UPDATE head SET commits = ?, time = ? WHERE partition = ?";

export const selectRecord = "SELECT version, doc FROM record WHERE partition = ? AND key = ?";
export const selectVersion = "SELECT version FROM record WHERE partition = ? AND key = ?";
export const putRecord = `INSERT INTO record (partition, key, version, doc) VALUES (?, ?, ?, ?)
	ON CONFLICT (partition, key) DO UPDATE SET version = excluded.version, doc = excluded.doc`;
export const updateRecord = "UPDATE record SET version = ?, doc = ? WHERE partition = ? AND key = ? AND version = ?";
export const removeRecord = "DELETE FROM record WHERE partition = ? AND key = ?";
export const removeRecordAt = "DELETE FROM record WHERE partition = ? AND key = ? AND version = ?";
export const scanRecords = "SELECT key, version, doc FROM record WHERE partition = ? AND key > ? ORDER BY key LIMIT ?";
export const scanKeys = "SELECT key FROM record WHERE partition = ? AND key > ? ORDER BY key LIMIT ?";
export const rewriteRecord = "UPDATE record SET doc = ? WHERE partition = ? AND key = ?";

const rows = (row: string, count: number): string => Array(count).fill(row).join(", ");

export const insertRecords = (count: number): string =>
	`INSERT INTO record (partition, key, version, doc) VALUES ${rows("(?, ?, ?, ?)", count)}
	ON CONFLICT (partition, key) DO NOTHING`;

export const insertEntries = (count: number): string =>
	`INSERT INTO entry (partition, queue, score, key) VALUES ${rows("(?, ?, ?, ?)", count)} ON CONFLICT DO NOTHING`;
export const removeEntries = (count: number): string =>
	count === 1
		? "DELETE FROM entry WHERE partition = ? AND queue = ? AND score = ? AND key = ?"
		: `DELETE FROM entry WHERE (partition, queue, score, key) IN (VALUES ${rows("(?, ?, ?, ?)", count)})`;
export const firstEntries =
	"SELECT score, key FROM entry WHERE partition = ? AND queue = ? ORDER BY score, key LIMIT ?";
export const firstEntriesAfter = `SELECT score, key FROM entry WHERE partition = ? AND queue = ?
	AND (score, key) > (?, ?) ORDER BY score, key LIMIT ?`;
export const firstScore = "SELECT score FROM entry WHERE partition = ? AND queue = ? ORDER BY score LIMIT 1";
export const queueFrom = "SELECT queue FROM entry WHERE partition = ? AND queue >= ? ORDER BY queue LIMIT 1";
export const queueAfter = "SELECT queue FROM entry WHERE partition = ? AND queue > ? ORDER BY queue LIMIT 1";
export const lastEntries =
	"SELECT score, key FROM entry WHERE partition = ? AND queue = ? ORDER BY score DESC, key DESC LIMIT ?";
export const selectEntry = "SELECT 1 FROM entry WHERE partition = ? AND queue = ? AND score = ? AND key = ?";
export const removeAllEntries = "DELETE FROM entry";

/** Sizes are kept beside the entries: counting a queue means walking through all of it. */
export const addToSize = `INSERT INTO queue_size (partition, queue, size) VALUES (?, ?, ?)
	ON CONFLICT (partition, queue) DO UPDATE SET size = size + excluded.size`;
export const removeEmptySize = "DELETE FROM queue_size WHERE partition = ? AND queue = ? AND size = 0";
export const countEntries = "SELECT COUNT(*) FROM entry WHERE partition = ? AND queue = ?";
export const setSize = `INSERT INTO queue_size (partition, queue, size) VALUES (?, ?, ?)
	ON CONFLICT (partition, queue) DO UPDATE SET size = excluded.size`;
export const sizesFrom = "SELECT queue, size FROM queue_size WHERE partition = ? AND queue >= ? ORDER BY queue";
/** For `doctor`: sizes that no counting gives. */
export const wrongSizes = `SELECT partition, queue, size,
		(SELECT COUNT(*) FROM entry e WHERE e.partition = s.partition AND e.queue = s.queue) AS found
	FROM queue_size s WHERE typeof(size) <> 'integer' OR size < 1`;
export const removeAllSizes = "DELETE FROM queue_size";

export const selectBlob = "SELECT bytes FROM blob WHERE partition = ? AND key = ?";
export const putBlob = `INSERT INTO blob (partition, key, bytes) VALUES (?, ?, ?)
	ON CONFLICT (partition, key) DO UPDATE SET bytes = excluded.bytes`;
export const removeBlob = "DELETE FROM blob WHERE partition = ? AND key = ?";
export const scanBlobs = "SELECT key FROM blob WHERE partition = ? ORDER BY key LIMIT ?";
export const scanBlobsAfter = "SELECT key FROM blob WHERE partition = ? AND key > ? ORDER BY key LIMIT ?";

export const insertEvents = (count: number): string =>
	`INSERT INTO event (partition, log, "commit", place, orphan, at, owner, "group", body) VALUES ${rows("(?, ?, ?, ?, 0, ?, ?, ?, ?)", count)}`;
export const selectLog = `SELECT "commit", place, at, owner, "group", body FROM event
	WHERE partition = ? AND log = ? AND ("commit", place) > (?, ?) ORDER BY "commit", place LIMIT ?`;
/** Indexes are named because the planner, knowing nothing of the data, would walk through the whole log instead. */
export const selectHistory = `SELECT "commit", place, at, owner, "group", body FROM event INDEXED BY event_of_owner
	WHERE partition = :partition AND owner = :owner AND orphan = 0 AND log = :log AND ("commit", place) > (:commit, :place)
	UNION ALL
	SELECT "commit", place, at, owner, "group", body FROM event INDEXED BY event_of_group
	WHERE partition = :partition AND "group" = :owner AND "group" <> '' AND ungrouped = 0 AND owner <> :owner AND log = :log
		AND ("commit", place) > (:commit, :place)
	ORDER BY "commit", place LIMIT :count`;
export const logAfter = "SELECT log FROM event WHERE partition = ? AND log > ? ORDER BY log LIMIT 1";
export const lastCommitOfLog = 'SELECT MAX("commit") FROM event WHERE partition = ? AND log = ?';
export const orphanEvents = `UPDATE event INDEXED BY event_of_owner SET orphan = 1
	WHERE partition = ? AND owner = ? AND orphan = 0`;
export const leaveGroup = `UPDATE event INDEXED BY event_of_group SET ungrouped = 1
	WHERE partition = ? AND "group" = ? AND "group" <> '' AND ungrouped = 0`;
export const oldestOrphan = "SELECT MIN(at) FROM event INDEXED BY event_orphaned WHERE partition = ? AND orphan = 1";
export const trimOrphans = `DELETE FROM event INDEXED BY event_orphaned
	WHERE partition = ? AND orphan = 1 AND at < ? LIMIT ?`;

/** Layout 1 knew neither logs nor groups. */
export const setAsideEvents = `
ALTER TABLE event RENAME TO earlier_event;
DROP INDEX event_of_owner;
DROP INDEX event_orphaned;
`;
export const selectEarlierEvents = `SELECT partition, "commit", place, orphan, at, owner, body FROM earlier_event
	WHERE (partition, "commit", place) > (?, ?, ?) ORDER BY partition, "commit", place LIMIT ?`;
export const insertEarlierEvent = `INSERT INTO event (partition, log, "commit", place, orphan, at, owner, "group", body)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const dropEarlierEvents = "DROP TABLE earlier_event";
