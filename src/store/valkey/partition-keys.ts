import { toText } from "./text.ts";

/** Declared to every commit, in this order. */
export const FIXED_KEYS = ["header", "logs", "chunks", "forgotten", "directory", "watched", "turns"] as const;

/**
 * The names of one partition's keys. The hash tag puts all of them into one slot; the part in front of a record's,
 * queue's or log's own name has the same length everywhere, so the server gets from a key to the name by cutting it off.
 *
 *   h   header, a hash: time, commits, turns, watched, stretch, and `e:<engine>` for its last batch and what it was answered
 *   n   names of the logs that have entries
 *   l:  a log, a hash: by the number of every commit that told of something all its events of this log
 *   s:  stretches of 256 commits that have entries in a log
 *   c   chunks of long histories, a hash; f   histories that are over, by the first commit they name
 *   d   directory: queues that are not empty, in the order of their names
 *   w   watched records and until when; t   turns on records
 *   v:  version of a record, then its history: the commits that told of it; r:  its document
 *   q:  a queue, a sorted set: an entry is a record's key, a null character and its score, so that one may not be taken
 *       for another of the same record; b:  a blob
 */
export interface PartitionKeys extends Readonly<Record<Exclude<(typeof FIXED_KEYS)[number], "turns">, string>> {
	readonly fixed: readonly string[];
	/** What stands in front of names, as bytes. */
	readonly prefixes: Readonly<Record<"version" | "record" | "queue" | "blob" | "log" | "stretches", Uint8Array>>;
	version(key: string): string;
	record(key: string): string;
	queue(name: string): string;
	blob(key: string): string;
	log(name: string): string;
	stretches(log: string): string;
}

const LETTERS: Readonly<Record<(typeof FIXED_KEYS)[number], string>> = {
	header: "h",
	logs: "n",
	chunks: "c",
	forgotten: "f",
	directory: "d",
	watched: "w",
	turns: "t",
};

export function partitionKeys(prefix: string, partition: number): PartitionKeys {
	const tag = `${prefix}{${partition}}`;
	const named = (letter: string) => {
		const start = `${tag}${letter}:`;
		return { start: Buffer.from(start), of: (name: string) => start + toText(name) };
	};
	const [version, record, queue] = [named("v"), named("r"), named("q")];
	const [blob, log, stretches] = [named("b"), named("l"), named("s")];
	const fixed = FIXED_KEYS.map((name) => tag + LETTERS[name]);
	const byName = Object.fromEntries(FIXED_KEYS.map((name, n) => [name, fixed[n]])) as Record<
		(typeof FIXED_KEYS)[number],
		string
	>;
	return {
		...byName,
		fixed,
		prefixes: {
			version: version.start,
			record: record.start,
			queue: queue.start,
			blob: blob.start,
			log: log.start,
			stretches: stretches.start,
		},
		version: version.of,
		record: record.of,
		queue: queue.of,
		blob: blob.of,
		log: log.of,
		stretches: stretches.of,
	};
}
