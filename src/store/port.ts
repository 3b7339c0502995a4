/**
 * The port every store implements. A store keeps versioned records in partitions and changes them atomically; it knows
 * no rules. Everything below speaks of one partition; partitions share nothing and may fail separately.
 *
 * What a store promises:
 * - A unit is applied whole or not at all, and only if every record it names still has the expected version.
 * - Commits of one partition are serial. Each that writes gets the next number of the partition, and the records it
 *   writes take that number as their version: no version is ever used twice, not even for a key removed and made again.
 * - A batch that was applied is remembered under its engine and number for as long as that engine may have it on its way
 *   (`inFlight`): sent again, it is answered as the first time and not applied again. An older number is ignored.
 * - Every reply carries the store's time. Within a partition it never runs back behind a commit's, whoever asks, nor
 *   behind any other reply of the same open store.
 * - A read sees every commit answered before it was sent.
 */

export interface StoredRecord {
	key: string;
	/** 0 when there is no such record. */
	version: number;
	/** Empty when there is one and the store cannot read it, as on a damaged page; its version is then of no use. */
	doc: string;
}

/** The version of a record that the store has and cannot read: one that no commit ever gives. */
export const UNREADABLE = Number.MAX_SAFE_INTEGER;

/** A key stands in a queue at most once; an entry is removed by naming it with the score it has. */
export interface IndexEntry {
	queue: string;
	key: string;
	score: number;
}

/** Where a read of a queue goes on: behind this entry. */
export interface QueuePosition {
	score: number;
	key: string;
}

/** An event as it is stored. Everything of one owner or group goes into one log. */
export interface EventEntry {
	/** The log it is appended to: a reader of one log neither reads nor hears of any other. */
	log: string;
	/** Whose history it belongs to, and whose end is its own. */
	owner: string;
	/** A second history it is part of, as that of the flow an execution belongs to. */
	group?: string;
	at: number;
	body: string;
}

/** A stored event and where it stands in its log. */
export interface LoggedEvent extends EventEntry {
	/** Number of the commit, and the event's place in the batch: ascending, not without gaps. */
	commit: number;
	index: number;
}

/** An owner or group whose history ends. */
export interface ForgottenOwner {
	log: string;
	owner: string;
}

export interface LogPosition {
	commit: number;
	index: number;
}

export interface StoredBlob {
	key: string;
	bytes: Uint8Array;
}

/** Changes that stand or fall together. */
export interface Unit {
	/** Every record read, with the version it was read at; 0 for those that were absent. */
	expected: [key: string, version: number][];
	put: { key: string; doc: string }[];
	removed: string[];
	indexAdded: IndexEntry[];
	indexRemoved: IndexEntry[];
	events: EventEntry[];
	/**
	 * Owners and groups that are gone: their history can no longer be read. Events of a gone owner stay in the log, and in
	 * the history of their group, until they are trimmed; those of a gone group stay with their owners. An event of this
	 * same unit counts as appended before that.
	 */
	forgotten: readonly ForgottenOwner[];
	blobs: readonly StoredBlob[];
	blobsRemoved: readonly string[];
	/** This unit has lost several times: if it loses again, the records it lost on are kept for its engine for a moment. */
	wantsTurn: boolean;
}

/** A unit of these parts and nothing else. */
export const unitOf = (parts: Partial<Unit>): Unit => ({
	expected: [],
	put: [],
	removed: [],
	indexAdded: [],
	indexRemoved: [],
	events: [],
	forgotten: [],
	blobs: [],
	blobsRemoved: [],
	wantsTurn: false,
	...parts,
});

/** Whether a unit changes anything, rather than only asking whether what it read still holds. */
export function hasWrites(unit: Unit): boolean {
	return (
		unit.put.length > 0 ||
		unit.removed.length > 0 ||
		unit.indexAdded.length > 0 ||
		unit.indexRemoved.length > 0 ||
		unit.events.length > 0 ||
		unit.forgotten.length > 0 ||
		unit.blobs.length > 0 ||
		unit.blobsRemoved.length > 0
	);
}

export interface Batch {
	/** The engine that sends it, and its running number in this partition. */
	engine: string;
	number: number;
	/** The time its rules ran at: a lower bound of the store's. */
	at: number;
	units: Unit[];
	/** Set when its engine sees to what is due in them itself: nobody needs to be told of an earlier due time. */
	vouched?: boolean;
	/** Set when more has to be kept afterwards. A store that is full may refuse that, but not what ends or removes work. */
	startsWork?: boolean;
}

export interface Timed {
	/** The store's time when it answered. */
	time: number;
}

export type UnitResult =
	| { ok: true }
	| {
			ok: false;
			/** The records as they are now. */
			current: StoredRecord[];
			/** Set when another engine has its turn on one of them: no use trying before. */
			turnUntil?: number;
	  };

export interface CommitReply extends Timed {
	/** The number of this commit: the version of all it wrote. */
	commit: number;
	/**
	 * Empty when `at` lay ahead of the store's time, or more than TIME_TOLERANCE_MS behind it: nothing was looked at, the
	 * rules must run again. Remembered like any other answer, or a late copy might find that its time has come.
	 */
	results: UnitResult[];
}

/** The queue of what is due at a time, its score. */
export const DUE = "due";

/** Queues whose names begin so are for listing only: nobody waits for one of them, and no notice tells of it. */
export const LISTING = "list,";

/** Likewise those of what belongs to one record, of which there may be as many as there are records. */
export const PARTS = "part,";

/** Whether a notice names this queue when it was empty and no longer is. Of what is due it tells the earliest time. */
export const isTold = (queue: string): boolean =>
	queue !== DUE && !queue.startsWith(LISTING) && !queue.startsWith(PARTS);

/** Watched like a record, it has changed whenever a commit appended events to this log. */
export const logSubject = (log: string): string => `log,${log}`;

/** What a commit that wrote little put into queues that were empty: whoever waits for it need not ask. */
export interface News {
	/** The commit's number: the version of the records. */
	commit: number;
	/** All entries of those queues. */
	entries: IndexEntry[];
	/** What it wrote of the records in them. All else stays untold: everybody hears a notice, and it may be a secret. */
	records: { key: string; doc: string }[];
}

/** More is not told whole: everybody hears a notice, and few have a use for it. */
export const MOST_NEWS = { records: 4, chars: 2048 } as const;

/** Tells that something may have changed; may be lost or repeated. About its own commits a listener may be told or not. */
export interface Notice {
	partition: number;
	/** Queues that went from empty to not empty, but for those that are only listed. */
	queues: string[];
	/** What is in them, when it is little; a store may always leave it out. Out of date like all one is told. */
	news?: News;
	/** The earliest due time, when a commit made it earlier and its engine did not vouch for it. */
	due?: number;
	/** The store's time of the commit it tells of. */
	time?: number;
	/** Watched records that changed. */
	changed: string[];
	/**
	 * Set when notices of this partition may have been missed, or another server may answer that lacks the latest commits,
	 * as after a reconnect: all of it is to be looked at anew.
	 */
	gap?: boolean;
}

export interface QueueSize {
	queue: string;
	size: number;
}

/** A copy that nobody changes; whoever took it lets go of it. */
export interface Snapshot {
	store: Pick<Store, "partitions" | "scan" | "scanBlobs" | "scansRepeat" | "readBlobs" | "events" | "logs">;
	discard(): Promise<void>;
}

export interface Store {
	readonly partitions: number;
	/** About how many records a batch should write at most; a unit that writes none counts as one. */
	readonly writesPerBatch: number;
	/** How many batches an engine may have on their way to a partition; a new one waits for the one that many before it. */
	readonly inFlight: number;
	/** Whether other processes may have it open too: engines then tell each other that they are there. */
	readonly shared: boolean;
	read(partition: number, keys: readonly string[]): Promise<Timed & { records: StoredRecord[] }>;
	/** Undefined for what is not there; among several, also for what the store cannot read. */
	readBlobs(partition: number, keys: readonly string[]): Promise<Timed & { blobs: (Uint8Array | undefined)[] }>;
	/** The first entries of a queue, ascending by score then key (by the store's own order of characters beyond ASCII). */
	first(
		partition: number,
		queue: string,
		count: number,
		after?: QueuePosition,
	): Promise<Timed & { entries: QueuePosition[] }>;
	/** The last entries of a queue, the very last first. */
	last(partition: number, queue: string, count: number): Promise<Timed & { entries: QueuePosition[] }>;
	/** Names of queues that are not empty and start with `prefix`, ascending. */
	queues(partition: number, prefix: string): Promise<Timed & { queues: string[] }>;
	/** The same queues with how many entries each holds, without counting them one by one. */
	queueSizes(partition: number, prefix: string): Promise<Timed & { queues: QueueSize[] }>;
	/** Which of these entries stand in their queues, in the order given; for audits and repair. */
	standing(partition: number, entries: readonly IndexEntry[]): Promise<Timed & { standing: boolean[] }>;
	commit(partition: number, batch: Batch): Promise<CommitReply>;
	/** The number of the latest commit; 0 before the first. */
	lastCommit(partition: number): Promise<Timed & { commit: number }>;
	/** The history of one owner or group, or all of a log, oldest first. It costs by what is returned. */
	events(
		partition: number,
		log: string,
		owner: string | undefined,
		after: LogPosition | undefined,
		count: number,
	): Promise<Timed & { events: LoggedEvent[] }>;
	/** Names of logs with events, ascending; for export and audits. */
	logs(partition: number): Promise<Timed & { logs: string[] }>;
	/** The time of the oldest event whose owner was forgotten, if there is one. */
	oldestForgotten(partition: number): Promise<Timed & { at?: number }>;
	/** Lets go of events older than `before` whose owner was forgotten. */
	trimEvents(partition: number, before: number): Promise<Timed & { trimmed: number }>;
	/**
	 * All records page by page, in the store's own order, for export, audits and repair; never on a path users wait for.
	 * The cursor of a page leads to the next, and there is none on the last; `count` is about how many a page holds, and
	 * it may hold none: a page is bounded by what it costs. What was there all the while is shown.
	 */
	scan(
		partition: number,
		cursor: string | undefined,
		count: number,
	): Promise<Timed & { records: StoredRecord[]; cursor?: string }>;
	/** Keys of blobs, likewise. */
	scanBlobs(
		partition: number,
		cursor: string | undefined,
		count: number,
	): Promise<Timed & { keys: string[]; cursor?: string }>;
	/** Set where a scan may show a record more than once, when others come or go meanwhile. */
	readonly scansRepeat?: boolean;
	/** Asks for notices about a record, or a `logSubject`, until the returned function is called. */
	watch(partition: number, key: string): () => void;
	onNotice(listener: (notice: Notice) => void): void;
	/** Says something to whoever has this store open; like notices it may be lost. Absent where nobody else can have. */
	say?(text: string): void;
	/** Hears what is said, also by itself. */
	onSaid?(listener: (text: string) => void): void;
	/** What may be lost the way the store is set up, in words, as found when it was opened. */
	readonly warnings?: readonly string[];
	/** Looks the store itself over, for `doctor`; it may take a while. Absent where there is nothing to look over. */
	checkUp?(): Promise<CheckUp>;
	/**
	 * The whole store as it is at one moment, to be read while the store goes on changing; for stores that would
	 * otherwise have to be closed for it.
	 */
	snapshot?(): Promise<Snapshot>;
	close(): Promise<void>;
}

/** What a store knows of itself beyond the records it keeps. */
export interface CheckUp {
	/** In words a person understands, such as `synchronous`: `FULL`. */
	facts: Record<string, string | number>;
	/** Room it takes, all told. */
	bytes: number;
	/** What is wrong; empty when nothing is. */
	problems: string[];
}

/**
 * What a program tells a store about the records it writes, so that a store written by an earlier version can be opened:
 * documents are migrated and the index is built anew when the stored format is lower, and a higher one is refused.
 */
export interface RecordFormat {
	format: number;
	/** The document as this version writes it, from what version `from` wrote. */
	migrate(from: number, key: string, doc: string): string;
	/** Where a record is queued. A document that cannot be read is queued nowhere. */
	indexOf(key: string, doc: string): { queue: string; score: number }[];
}

export interface StoreOptions {
	/** How many partitions a new store gets, and an existing one must have; its own number when left out. */
	partitions?: number;
	format: RecordFormat;
	/** Refuse rather than make a new store. */
	mustExist?: boolean;
	/** Time from a test. A store made so is marked, and refuses to be opened without; one not made so refuses this. */
	testClock?: () => number;
}

export type OpenErrorCode =
	| "store_invalid"
	| "store_read_only"
	| "store_too_new"
	| "store_driver_missing"
	| "store_in_use"
	| "store_unavailable"
	| "store_version_too_low"
	| "partition_mismatch";

/** A store could not be opened; the message says which file or field, and what to do. */
export class StoreOpenError extends Error {
	override name = "StoreOpenError";
	readonly code: OpenErrorCode;
	readonly details: Record<string, unknown>;
	constructor(code: OpenErrorCode, message: string, details: Record<string, unknown> = {}, cause?: unknown) {
		super(message, cause === undefined ? undefined : { cause });
		this.code = code;
		this.details = details;
	}
}

/** How far a batch's time may lie behind the store's. It may never lie ahead: then a lease could end before its time. */
export const TIME_TOLERANCE_MS = 1000;

/** How long a turn on a record lasts at most. */
export const TURN_MS = 250;

/** The store did not do as asked. `applied` says whether a commit may have happened all the same. */
export class StoreError extends Error {
	override name = "StoreError";
	readonly applied: "no" | "unknown";
	/** Whether the same call is worth repeating: the store is about to answer again, or may have answered already. */
	readonly passing: boolean;
	/** What a caller is told, where it is more than that the store does not answer. */
	readonly code: "store_unavailable" | "store_too_new" | "store_corrupt";
	constructor(message: string, options: StoreErrorOptions) {
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		this.applied = options.applied;
		this.passing = options.passing ?? options.applied === "unknown";
		this.code = options.code ?? "store_unavailable";
	}
}

export interface StoreErrorOptions {
	applied: "no" | "unknown";
	/** By default only what is unknown is. */
	passing?: boolean;
	code?: StoreError["code"];
	cause?: unknown;
}
