import type {
	Batch,
	CheckUp,
	CommitReply,
	IndexEntry,
	LoggedEvent,
	LogPosition,
	Notice,
	QueuePosition,
	Store,
	StoredRecord,
	Unit,
	UnitResult,
} from "../port.ts";
import { checkUp } from "./check-up.ts";
import { CommitCall, VERSION_WIDTH } from "./commit-call.ts";
import { decodeEvents, isBehind, trimEntry } from "./event-log.ts";
import { functionName } from "./library.ts";
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
const TRIM_STEP = 256;
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

	async events(partition: number, owner: string | undefined, after: LogPosition | undefined, count: number) {
		const at = this.#at(partition);
		const declared = [at.header, at.log, at.stretches, ...(owner === undefined ? [] : [at.version(owner)])];
		const events: LoggedEvent[] = [];
		for (let from = after?.commit ?? 1; ; ) {
			// The first entry may hold nothing but what was seen already.
			const range = [String(from), String(count + 1)];
			const [time, entries, on] = await this.#call<string[], number>(at, "events", declared, range);
			for (const event of decodeEvents(entries))
				if (isBehind(event, after) && (owner === undefined || event.owner === owner)) events.push(event);
			if (!on || events.length >= count) return { time, events: events.slice(0, count) };
			from = on;
		}
	}

	async trimEvents(partition: number, before: number) {
		const at = this.#at(partition);
		await this.#call(at, "sweep", [at.header, at.watched], [String(ANSWERS_MS)]);
		let trimmed = 0;
		for (let from = 0; ; ) {
			const range = [`(${from}`, "+inf", "BYSCORE", "LIMIT", "0", String(TRIM_STEP)];
			const [time, commits] = await this.#call<string[]>(at, "ask", [at.header, at.orphaned], ["ZRANGE", ...range]);
			const page = await this.#trimEntries(at, commits, before);
			trimmed += page.trimmed;
			// What comes later is younger still.
			if (commits.length < TRIM_STEP || !page.isOld) return { time, trimmed };
			from = Number(commits.at(-1));
		}
	}

	/** Trims some entries of the log; says whether any event in them was old enough to go. */
	async #trimEntries(at: Place, commits: readonly string[], before: number) {
		if (commits.length === 0) return { trimmed: 0, isOld: false };
		const texts = await this.#plain<(string | null)[]>(at, ["HMGET", at.log, ...commits]);
		const events = decodeEvents(commits.flatMap((commit, n) => [commit, texts[n] ?? ""]));
		const owners = [...new Set(events.map(({ owner }) => owner))];
		const histories = await this.#histories(at, owners);
		const trims = commits.map((commit, n) => this.#trimEntry(at, commit, texts[n] ?? "", histories, before));
		const trimmed = (await Promise.all(trims)).reduce((sum, one) => sum + one, 0);
		return { trimmed, isOld: events.some((event) => event.at < before) };
	}

	async #trimEntry(
		at: Place,
		commit: string,
		text: string,
		histories: ReadonlyMap<string, string>,
		before: number,
	): Promise<number> {
		const { left, trimmed, waits, kept } = trimEntry(Number(commit), text, histories, before);
		if (trimmed === 0 && waits) return 0;
		const declared = [at.header, at.log, at.stretches, at.orphaned, ...[...kept].map(at.version)];
		const change = [commit, text, left, waits ? "0" : "1"];
		const seen = [...kept].map((owner) => histories.get(owner) ?? "");
		const [, done] = await this.#call<number>(at, "trim", declared, [...change, ...seen]);
		return done * trimmed;
	}

	/** What the server keeps of these owners' histories. */
	async #histories(at: Place, owners: readonly string[]): Promise<Map<string, string>> {
		if (owners.length === 0) return new Map();
		const found = await this.#plain<(string | null)[]>(at, ["MGET", ...owners.map(at.version)]);
		return new Map(owners.map((owner, n) => [owner, (found[n] ?? "").slice(VERSION_WIDTH)]));
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
		name: Parameters<typeof functionName>[0],
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
