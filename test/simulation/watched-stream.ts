import type { FramePage, FrameView, SummaryView } from "../../src/contract/replies.ts";
import type { FrameMode, StreamRecord, SummaryRecord } from "../../src/kernel/records/stream.ts";
import { comparePositions, type Frame, type FramePosition, frameId } from "../../src/kernel/streams/chunks.ts";
import { logOf } from "../../src/kernel/streams/keeping.ts";
import { merged } from "./merge-model.ts";
import { nameOf } from "./stream-frames.ts";
import { Violation } from "./violation.ts";

/** A frame as it came into the store. */
interface KeptFrame extends Frame {
	/** When that was. */
	moment: number;
}

/** When and why a stream was closed, by what events say. */
export interface Closing {
	closedAt: number;
	closeReason: string;
	moment: number;
}

/** Patches and frames of best effort that are kept in any case. */
const PATCHES_KEPT = 128;
const BEST_EFFORT_KEPT = 64;

/** The stream of one attempt, as a watcher of commits knows it. */
export class WatchedStream {
	readonly name: string;
	/** All there ever were, in order. */
	readonly frames: KeptFrame[] = [];
	closing: Closing | undefined;
	header: StreamRecord | undefined;
	maxFrames = Number.POSITIVE_INFINITY;
	/** Chunks that are in the store, by key, with the frames in them. */
	readonly chunks = new Map<string, readonly Frame[]>();
	readonly #byName = new Map<string, KeptFrame>();
	readonly #byMode: Record<FrameMode, KeptFrame[]> = { durable: [], summary: [], best_effort: [] };
	/** The last sequence number of each lease. */
	readonly #seqs = new Map<number, number>();
	/** What the patches come to after each of them, beginning before the first. */
	readonly #documents: string[] = ["null"];
	#next = 0;

	constructor(name: string) {
		this.name = name;
	}

	/** Whether a frame of this name was kept. */
	has(name: string): boolean {
		return this.#byName.has(name);
	}

	seqOf(epoch: number): number {
		return this.#seqs.get(epoch) ?? 0;
	}

	/** The id of the frame before one; start when that is the first. */
	idBefore(id: string): string | undefined {
		const n = this.frames.findIndex((frame) => frameId(frame) === id);
		return n < 0 ? undefined : n === 0 ? "start" : frameId(this.frames[n - 1] as KeptFrame);
	}

	/** How many frames, or how many of a mode, there were at a moment. */
	countAt(moment: number, mode?: FrameMode): number {
		const all = mode === undefined ? this.frames : this.#byMode[mode];
		return all.filter((frame) => frame.moment <= moment).length;
	}

	/** The chunks of one number have come into the store; their frames are in order. */
	wroteChunk(number: number, frames: readonly Frame[], moment: number): void {
		this.#require(number === this.#next, `chunk ${number} came, and ${this.#next} was next`);
		this.#next += 1;
		for (const [place, frame] of frames.entries()) {
			this.#require(frame.place === place, `in chunk ${number} place ${place} is taken by ${frame.place}`);
			this.#add({ ...frame, moment });
		}
	}

	#add(frame: KeptFrame): void {
		const { mode, epoch, q: seq, p: patch } = frame;
		const { name, isOrderly } = nameOf(frame);
		const last = this.seqOf(epoch);
		this.#require(!this.has(name), `${name} is kept twice`);
		if (seq !== undefined) {
			this.#require(seq > last, `frame ${seq} of epoch ${epoch} was kept behind ${last}`);
			this.#require(!isOrderly || seq === last + 1, `frame ${seq} of epoch ${epoch} was kept, and ${last + 1} was not`);
			this.#seqs.set(epoch, seq);
		}
		const alike = this.#byMode[mode];
		this.#require(
			frame.before === alike.length,
			`${name} is said to follow ${frame.before} of ${alike.length} ${mode}`,
		);
		this.#byName.set(name, frame);
		this.frames.push(frame);
		alike.push(frame);
		if (mode === "summary") this.#documents.push(merged(this.#documents.at(-1) ?? "null", patch));
	}

	/** All of a unit is known that wrote the record of the stream. */
	wroteHeader(header: StreamRecord): void {
		this.header = header;
		for (const [mode, frames] of Object.entries(this.#byMode) as [FrameMode, KeptFrame[]][]) {
			const { total } = logOf(header, mode);
			this.#require(total === frames.length, `${total} ${mode} frames are counted, and ${frames.length} were kept`);
		}
		const last = this.frames.at(-1);
		const lastId = last ? frameId(last) : "";
		this.#require(header.next === this.#next, `chunk ${header.next} is said to be next, and ${this.#next} is`);
		this.#require(header.lastId === lastId, `${header.lastId} is said to be the last frame, and ${lastId} is`);
	}

	wroteSummary({ documents, version }: SummaryRecord): void {
		const count = this.#documents.length - 1;
		this.#require(version === count, `the summary has version ${version} after ${count} patches`);
		const [expected, found] = [this.#documents[count], JSON.stringify(documents[0])];
		this.#require(expected === found, `patches come to ${expected}, and the summary is ${found}`);
	}

	/** A chunk is removed while its execution stays: all in it has to be too much, or over. */
	trimmed(key: string, time: number): void {
		for (const { mode, before, at, e = Number.POSITIVE_INFINITY, ...frame } of this.chunks.get(key) ?? []) {
			const behind = this.#byMode[mode].length - before;
			const most =
				mode === "durable" ? this.maxFrames : mode === "summary" ? PATCHES_KEPT : at + e <= time ? 0 : BEST_EFFORT_KEPT;
			this.#require(behind > most, `${nameOf(frame).name}, a ${mode} frame, was removed with ${behind - 1} behind it`);
		}
	}

	/** What is kept is what the record of the stream tells of, and all of that. */
	checkKept(blobs: ReadonlyMap<string, Uint8Array>): void {
		for (const [key, frames] of this.chunks) {
			this.#require(blobs.has(key), `${key} is lost`);
			for (const { mode, chunk } of frames.slice(0, 1)) {
				const { groups } = logOf(this.header as StreamRecord, mode);
				const isNamed = groups.some(({ from, to }) => from <= chunk && chunk <= to);
				this.#require(isNamed, `${key} is kept, and nothing tells of it`);
			}
		}
		const chunks = new Set([...this.chunks.values()].flat().map(frameId));
		for (const frame of this.#byMode.durable.slice(-Math.min(this.maxFrames, 1_000_000)))
			this.#require(chunks.has(frameId(frame)), `${nameOf(frame).name} was kept, and is lost`);
	}

	/**
	 * Somebody was shown this of the frames in a range, in a call that began at `since`; `attempt` is whose they are said
	 * to be. What was there when the call began has to be there, and whatever is behind it in order.
	 */
	checkPage(page: FramePage, range: { from?: FramePosition; after?: FramePosition }, since: number): void {
		const isWithin = (frame: FramePosition) =>
			(!range.from || comparePositions(frame, range.from) >= 0) &&
			(!range.after || comparePositions(frame, range.after) > 0);
		const shown = new Set<KeptFrame>();
		let last: KeptFrame | undefined;
		for (const view of page.frames) {
			const frame = this.#shown(view);
			this.#require(isWithin(frame), `${view.id} was shown, which was not asked for`);
			this.#require(!last || comparePositions(frame, last) > 0, `${view.id} was shown behind ${last && frameId(last)}`);
			shown.add(frame);
			last = frame;
		}
		const isAll = page.closedAt !== undefined && page.nextFrom === undefined;
		const isAsked = (frame: KeptFrame) =>
			isAll || (last && comparePositions(frame, last) < 0) || (page.nextFrom === undefined && frame.moment <= since);
		const { durable } = this.#byMode;
		for (const [n, frame] of durable.entries()) {
			if (n < durable.length - this.maxFrames || !isWithin(frame) || shown.has(frame) || !isAsked(frame)) continue;
			throw new Violation(`${this.name}: ${frameId(frame)} was kept, and not shown`);
		}
	}

	/** What somebody was told of the end, in a call that began at `since`. */
	checkClosing({ closedAt, closeReason }: FramePage, since: number): void {
		const { closing } = this;
		if (closedAt === undefined) {
			this.#require(
				!closing || closing.moment > since,
				`it is told to be open, and was closed (${closing?.closeReason})`,
			);
			return;
		}
		const told = `${closeReason} at ${closedAt}`;
		const expected = closing ? `${closing.closeReason} at ${closing.closedAt}` : "open";
		this.#require(told === expected, `it is told to be ${told}, and is ${expected}`);
	}

	checkSummary({ document, version }: SummaryView, since: number): void {
		const [first, last] = [this.countAt(since, "summary"), this.#documents.length - 1];
		this.#require(version >= first && version <= last, `version ${version} was shown, when it was ${first} to ${last}`);
		const [shown, expected] = [JSON.stringify(document), this.#documents[version]];
		this.#require(shown === expected, `version ${version} was shown as ${shown}, and is ${expected}`);
	}

	#shown(view: FrameView): KeptFrame {
		const frame = this.#byName.get(nameOf({ t: view.type }).name);
		const same =
			frame &&
			view.id === frameId(frame) &&
			view.mode === frame.mode &&
			view.at === frame.at &&
			view.epoch === frame.epoch &&
			view.seq === frame.q &&
			this.name.endsWith(`/${view.attempt}`);
		if (!same) throw new Violation(`${this.name}: ${JSON.stringify(view)} was shown, which it never had`);
		return frame;
	}

	#require(holds: boolean, otherwise: string): void {
		if (!holds) throw new Violation(`stream ${this.name}: ${otherwise}`);
	}
}
