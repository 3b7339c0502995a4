import {
	type Batch,
	type CheckUp,
	type CommitReply,
	type IndexEntry,
	type LoggedEvent,
	type LogPosition,
	type Notice,
	type QueuePosition,
	type Store,
	type StoredRecord,
	UNREADABLE,
	type Unit,
	type UnitResult,
} from "../port.ts";
import { checkUp } from "./check-up.ts";
import { CommitCall } from "./commit-call.ts";
import { concerns, decodeEvents, isBehind, parseForgotten } from "./event-log.ts";
import { type FunctionName, functionName } from "./function-names.ts";
import { LogTrimmer } from "./log-trimmer.ts";
import type { Call } from "./node.ts";
import { readNotice } from "./notice.ts";
import type { NoticeLine } from "./notice-line.ts";
import { type PartitionKeys, partitionKeys } from "./partition-keys.ts";
import { entryOf, positionOf } from "./queue-entry.ts";
import type { Servers } from "./servers.ts";
import type { StoreSettings } from "./settings.ts";
import { partitionTags, slotOf } from "./slots.ts";
import { fromText, toText } from "./text.ts";
import { WATCH_MS, WatchKeeper } from "./watch-keeper.ts";

const SCAN_STEP = 1000;
/** A page ends after this many steps although little was found: where many partitions share a server, most of what a
 * step goes over is others'. */
const MOST_SCAN_STEPS = 16;
/** What an engine was answered is kept for so long after its last batch. */
const ANSWERS_MS = 86_400_000;

/** A partition's keys and the slot they are all in. */
interface Place extends PartitionKeys {
	partition: number;
	slot: number;
	/** The latest time it told. */
	heard: number;
}

export interface ValkeyStoreParts {
	servers: Servers;
	notices: NoticeLine;
	settings: StoreSettings;
	testClock: (() => number) | undefined;
	warnings: readonly string[];
}

/** Records on one Valkey or Redis server, or on a cluster of them. */
export class ValkeyStore implements Store {
	readonly writesPerBatch = 64;
	readonly inFlight = 1;
	readonly shared = true;
	readonly scansRepeat = true;
	readonly partitions: number;
	readonly warnings: readonly string[];
	readonly #format: number;
	readonly #servers: Servers;
	readonly #notices: NoticeLine;
	readonly #commitCall = new CommitCall();
	readonly #watches: WatchKeeper;
	readonly #places: readonly Place[];
	readonly #testClock: (() => number) | undefined;
	readonly #listeners: ((notice: Notice) => void)[] = [];
	readonly #hearers: ((text: string) => void)[] = [];

	constructor({ servers, notices, settings, testClock, warnings }: ValkeyStoreParts) {
		const { partitions, format } = settings;
		this.#servers = servers;
		this.#notices = notices;
		this.#format = format;
		this.partitions = partitions;
		this.warnings = warnings;
		this.#places = partitionTags(partitions).map((tag, partition) => ({
			...partitionKeys(servers.url.prefix, tag),
			partition,
			slot: slotOf(String(tag)),
			heard: 0,
		}));
		this.#testClock = testClock;
		this.#watches = new WatchKeeper(partitions, (partition, keys) => this.#tellWatched(partition, keys));
		notices.onMessage = (message) => this.#heard(message);
		notices.onSaid = (text) => {
			for (const listener of this.#hearers) listener(text);
		};
		notices.onGap = () => this.#missed();
		servers.onTurnover = (concerns) => this.#missed(({ slot }) => concerns(slot));
	}

	async read(partition: number, keys: readonly string[]) {
		const at = this.#at(partition);
		const declared = [at.header, ...keys.map(at.version), ...keys.map(at.record)];
		const [time, found] = await this.#call<(string | null)[]>(at, "read", declared);
		const records = keys.map((key, n) => storedRecord(key, found[n] ?? null, found[keys.length + n] ?? null));
		return { time, records };
	}

	async readBlobs(partition: number, keys: readonly string[]) {
		const at = this.#at(partition);
		const { time } = await this.read(partition, []);
		const found = keys.length > 0 ? await this.#bytes(at, ["MGET", ...keys.map(at.blob)]) : [];
		return { time, blobs: found.map((bytes) => bytes ?? undefined) };
	}

	async first(partition: number, queue: string, count: number, after?: QueuePosition) {
		const at = this.#at(partition);
		const declared = [at.header, at.queue(queue)];
		const [time, found] = after
			? await this.#call<string[]>(at, "behind", declared, [String(count), String(after.score), entryOf(after)])
			: await this.#call<string[]>(at, "ask", declared, ["ZRANGE", "0", String(count - 1)]);
		return { time, entries: found.map(positionOf) };
	}

	async queues(partition: number, prefix: string) {
		const at = this.#at(partition);
		const start = toText(prefix);
		const range = ["ZRANGE", start ? `[${start}` : "-", start ? `(${start}\u{10ffff}` : "+", "BYLEX"];
		const [time, queues] = await this.#call<string[]>(at, "ask", [at.header, at.directory], range);
		return { time, queues: queues.map(fromText) };
	}

	async last(partition: number, queue: string, count: number) {
		const at = this.#at(partition);
		const range = ["ZRANGE", "0", String(count - 1), "REV"];
		const [time, found] = await this.#call<string[]>(at, "ask", [at.header, at.queue(queue)], range);
		return { time, entries: found.map(positionOf) };
	}

	async queueSizes(partition: number, prefix: string) {
		const at = this.#at(partition);
		const { time, queues } = await this.queues(partition, prefix);
		const sizes = await Promise.all(queues.map((queue) => this.#plain<number>(at, ["ZCARD", at.queue(queue)])));
		const sized = queues.map((queue, n) => ({ queue, size: sizes[n] ?? 0 }));
		return { time, queues: sized.filter(({ size }) => size > 0) };
	}

	async standing(partition: number, entries: readonly IndexEntry[]) {
		const at = this.#at(partition);
		const byQueue = new Map<string, number[]>();
		for (const [n, { queue }] of entries.entries()) byQueue.set(queue, [...(byQueue.get(queue) ?? []), n]);
		const standing: boolean[] = new Array(entries.length).fill(false);
		const asked = [...byQueue].map(async ([queue, places]) => {
			const members = places.map((n) => entryOf(entries[n] as IndexEntry));
			const scores = await this.#plain<(string | null)[]>(at, ["ZMSCORE", at.queue(queue), ...members]);
			places.forEach((place, n) => {
				standing[place] = scores[n] != null;
			});
		});
		const [{ time }] = await Promise.all([this.read(partition, []), ...asked]);
		return { time, standing };
	}

	async lastCommit(partition: number) {
		const at = this.#at(partition);
		const [time, commit] = await this.#call<string | null>(at, "ask", [at.header, at.header], ["HGET", "commits"]);
		return { time, commit: Number(commit ?? 0) };
	}

	async commit(partition: number, batch: Batch): Promise<CommitReply> {
		const at = this.#at(partition);
		const { channel, ownChannel } = this.#notices;
		const isCluster = this.#servers.url.cluster;
		const { heard } = at;
		const settings = { clock: this.#clock(), heard, channel, ownChannel: isCluster ? "" : ownChannel, partition };
		const reply = commitReply(batch, await this.#plain(at, this.#commitCall.encode(at, batch, settings)));
		at.heard = Math.max(at.heard, reply.time);
		return reply;
	}

	async events(
		partition: number,
		log: string,
		owner: string | undefined,
		after: LogPosition | undefined,
		count: number,
	) {
		const at = this.#at(partition);
		const events: LoggedEvent[] = [];
		for (let from = after?.commit ?? 1; ; ) {
			const { time, entries, on } = await this.#entries(at, log, owner, from, count);
			for (const event of decodeEvents(log, entries))
				if (isBehind(event, after) && concerns(event, owner)) events.push(event);
			if (!on || events.length >= count) return { time, events: events.slice(0, count) };
			from = on;
		}
	}

	/** Entries of a log from a commit on, and where to go on behind them. */
	async #entries(at: Place, log: string, owner: string | undefined, from: number, count: number) {
		// The first entry may hold nothing but what was seen already.
		const range = [String(from), String(count + 1)];
		const [time, entries, on] =
			owner === undefined
				? await this.#call<string[], number>(at, "events", [at.header, at.log(log), at.stretches(log)], range)
				: await this.#call<string[], number>(
						at,
						"history",
						[at.header, at.log(log), at.version(owner), at.chunks],
						[...range, toText(owner)],
					);
		return { time, entries, on };
	}

	async logs(partition: number) {
		const at = this.#at(partition);
		const [time, logs] = await this.#call<string[]>(at, "ask", [at.header, at.logs], ["ZRANGE", "0", "-1"]);
		return { time, logs: logs.map(fromText) };
	}

	async oldestForgotten(partition: number) {
		const at = this.#at(partition);
		const range = ["ZRANGE", "0", "0", "WITHSCORES"];
		const [time, [member, commit = "0"]] = await this.#call<string[]>(at, "ask", [at.header, at.forgotten], range);
		if (member === undefined) return { time };
		const { log } = parseForgotten(member);
		const text = await this.#plain<string | null>(at, ["HGET", at.log(log), commit]);
		// Somebody may be trimming it: then there is something to trim.
		return { time, at: decodeEvents(log, [commit, text ?? ""])[0]?.at ?? 0 };
	}

	async trimEvents(partition: number, before: number) {
		const at = this.#at(partition);
		await this.#call(at, "sweep", [at.header, at.watched], [String(ANSWERS_MS)]);
		const trimmer = new LogTrimmer({
			read: (log, commits) => this.#plain(at, ["HMGET", at.log(log), ...commits.map(String)]),
			replace: async (log, commit, text, left) => {
				const declared = [at.header, at.log(log), at.stretches(log), at.logs];
				const [, done] = await this.#call<number>(at, "trim", declared, [String(commit), text, left, toText(log)]);
				return done === 1;
			},
			page: async (from, count) => {
				const range = ["ZRANGE", String(from), String(from + count - 1)];
				return (await this.#call<string[]>(at, "ask", [at.header, at.forgotten], range))[1];
			},
			drop: (members) => this.#plain(at, ["ZREM", at.forgotten, ...members]),
			move: (member, commit) => this.#plain(at, ["ZADD", at.forgotten, "XX", String(commit), member]),
		});
		const trimmed = await trimmer.trim(before);
		return { time: at.heard, trimmed };
	}

	async scan(partition: number, cursor: string | undefined, count: number) {
		const at = this.#at(partition);
		const { keys, ...end } = await this.#scanKeys(at, at.record(""), cursor, count);
		const { time, records } = await this.read(partition, keys);
		// What was removed meanwhile is not there.
		return { time, records: records.filter(({ version }) => version > 0), ...this.#goOn(at, end) };
	}

	async scanBlobs(partition: number, cursor: string | undefined, count: number) {
		const at = this.#at(partition);
		const { keys, ...end } = await this.#scanKeys(at, at.blob(""), cursor, count);
		const { time } = await this.read(partition, []);
		return { time, keys, ...this.#goOn(at, end) };
	}

	/**
	 * Goes over all keys of the server, whatever partition they are of: for repair, never for users. A cursor names the
	 * server it is of: when the partition has moved to another, the scan begins anew there.
	 */
	async #scanKeys(at: Place, prefix: string, cursor: string | undefined, count: number) {
		const [address, from] = cursor?.split(" ") ?? [];
		const owner = this.#servers.addressOf(at.slot);
		const step = String(Math.max(SCAN_STEP, count));
		const keys = new Set<string>();
		let next = address === owner && from !== undefined ? from : "0";
		let steps = 0;
		do {
			const scan: Call = ["SCAN", next, "MATCH", `${prefix}*`, "COUNT", step];
			const [then, found] = await this.#plain<[string, string[]]>(at, scan);
			for (const key of found) keys.add(fromText(key.slice(prefix.length)));
			next = then;
			steps += 1;
		} while (next !== "0" && keys.size < count && steps < MOST_SCAN_STEPS);
		return { keys: [...keys], owner, next };
	}

	/**
	 * Where a scan goes on. SCAN names no key, so a server never says that it has no longer got the partition; the read
	 * that follows does, and then the scan begins anew where it is now.
	 */
	#goOn(at: Place, { owner, next }: { owner: string; next: string }): { cursor?: string } {
		const ownerNow = this.#servers.addressOf(at.slot);
		if (ownerNow !== owner) return { cursor: `${ownerNow} 0` };
		return next === "0" ? {} : { cursor: `${owner} ${next}` };
	}

	watch(partition: number, key: string): () => void {
		return this.#watches.add(partition, key);
	}

	/** If it fails, the next time, or the caller's next look, makes up for it. */
	#tellWatched(partition: number, keys: readonly string[]): void {
		const at = this.#at(partition);
		this.#call(at, "watch", [at.header, at.watched], [String(WATCH_MS), ...keys.map(toText)]).catch(() => {});
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#listeners.push(listener);
	}

	say(text: string): void {
		this.#plain(this.#at(0), this.#notices.saying(text)).catch(() => {});
	}

	onSaid(listener: (text: string) => void): void {
		this.#hearers.push(listener);
	}

	async close(): Promise<void> {
		this.#listeners.length = 0;
		this.#hearers.length = 0;
		this.#watches.close();
		this.#notices.close();
		this.#servers.close();
	}

	checkUp(): Promise<CheckUp> {
		return checkUp(this.#servers, this.#format);
	}

	/** Notices may be lost: everything is to be looked at anew, and a server that forgot what is watched hears it again. */
	#missed(concerns: (place: Place) => boolean = () => true): void {
		this.#watches.tellAll();
		for (const { partition } of this.#places.filter(concerns))
			for (const listener of this.#listeners) listener({ partition, queues: [], changed: [], gap: true });
	}

	#heard(message: string): void {
		const notice = readNotice(message, this.partitions, (partition, key) => this.#watches.has(partition, key));
		if (!notice) return this.#missed();
		for (const listener of this.#listeners) listener(notice);
	}

	#clock(): string {
		return this.#testClock ? String(this.#testClock()) : "";
	}

	async #call<T, More = undefined>(
		at: Place,
		name: FunctionName,
		keys: string[],
		args: readonly string[] = [],
	): Promise<[time: number, answer: T, more: More]> {
		const call: Call = ["FCALL", functionName(name), String(keys.length), ...keys, this.#clock(), ...args];
		const [time, answer, more] = await this.#plain<[number, T, More]>(at, call);
		at.heard = Math.max(at.heard, time);
		return [at.heard, answer, more];
	}

	async #plain<T>(at: Place, call: Call): Promise<T> {
		return (await this.#servers.call(at.slot, call)) as T;
	}

	async #bytes(at: Place, call: Call): Promise<(Buffer | null)[]> {
		return (await this.#servers.call(at.slot, call, true)) as (Buffer | null)[];
	}

	#at(partition: number): Place {
		const place = this.#places[partition];
		if (!place) throw new RangeError(`no partition ${partition}`);
		return place;
	}
}

function storedRecord(key: string, version: string | null, doc: string | null): StoredRecord {
	const number = Number(version ?? 0);
	if (!Number.isSafeInteger(number) || number < 0) return { key, version: UNREADABLE, doc: "" };
	return { key, version: number, doc: number > 0 ? fromText(doc ?? "") : "" };
}

type RawReply = [time: number, commit: number, looked: number, ...lost: [number, number, ...string[]][]];

function commitReply(batch: Batch, raw: unknown): CommitReply {
	const [time, commit, looked, ...lost] = raw as RawReply;
	if (looked === 0) return { time, commit, results: [] };
	const results: UnitResult[] = batch.units.map(() => ({ ok: true }));
	for (const [u, turnUntil, ...found] of lost) {
		const { expected } = batch.units[u - 1] as Unit;
		const current = expected.map(([key], n) => storedRecord(key, found[2 * n] ?? null, found[2 * n + 1] ?? null));
		results[u - 1] = { ok: false, current, ...(turnUntil < 0 ? undefined : { turnUntil }) };
	}
	return { time, commit, results };
}
