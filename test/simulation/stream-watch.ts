import type { AppendedFrames, FramePage, SummaryView, TailedPage } from "../../src/contract/replies.ts";
import type { ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { FrameMode, StreamRecord, SummaryRecord } from "../../src/kernel/records/stream.ts";
import {
	comparePositions,
	decodeChunk,
	type Frame,
	type FramePosition,
	framePosition,
} from "../../src/kernel/streams/chunks.ts";
import { DEFAULT_MAX_FRAMES } from "../../src/kernel/streams/keeping.ts";
import type { Unit } from "../../src/store/port.ts";
import type { SimPartition } from "./sim-store.ts";
import { type GivenFrame, nameOf } from "./stream-frames.ts";
import { Violation } from "./violation.ts";
import { WatchedStream } from "./watched-stream.ts";

/** The states an execution went through in a unit, from what it was before to what it is. */
export type StatesOf = (id: string) => readonly (ExecutionRecord | undefined)[];

const CHUNK = /^(ex_[^/]+)\/f(\d+)\.(\d+)([sb]?)$/;
const PART = /^(ex_[^/]+)\/([hy])(\d+)$/;
const MODES: Record<string, FrameMode> = { "": "durable", s: "summary", b: "best_effort" };

/** Why a stream is closed, by the event that ends its attempt. */
const CLOSED_BY: Partial<Record<string, string>> = {
	completed: "completed",
	failed: "failed",
	retry_scheduled: "failed",
	cancelled: "cancelled",
	expired: "cancelled",
	lease_expired: "lease_expired",
	lease_revoked: "lease_revoked",
};

/** Sees to it that what is told while work runs is kept once and in order, by nobody but who holds it, and shown as it is. */
export class StreamWatch {
	readonly #streams = new Map<string, WatchedStream>();
	/** Streams of each execution, by attempt. */
	readonly #byExecution = new Map<string, WatchedStream[]>();
	/** Executions that are gone, or on their way. */
	readonly #gone = new Set<string>();
	/** Told of what came up. */
	onSeen: ((what: string) => void) | undefined;

	/** Executions that have, or had, a stream with something in it. */
	get executions(): string[] {
		return [...this.#byExecution.keys()];
	}

	of(id: string, attempt: number): WatchedStream {
		const name = `${id}/${attempt}`;
		const known = this.#streams.get(name);
		if (known) return known;
		const made = new WatchedStream(name);
		this.#streams.set(name, made);
		return made;
	}

	isGone(id: string): boolean {
		return this.#gone.has(id);
	}

	/** All of a unit that is about to be applied. */
	observe(unit: Unit, events: readonly ExecutionEvent[], statesOf: StatesOf, moment: number, time: number): void {
		this.#chunksWritten(unit, statesOf, moment);
		this.#recordsWritten(unit);
		this.#chunksRemoved(unit, statesOf, time);
		for (const { type, executionId, attempt, at } of events) {
			const closeReason = CLOSED_BY[type];
			if (closeReason === undefined || attempt === undefined) continue;
			const stream = this.of(executionId, attempt);
			if (stream.closing) continue;
			stream.closing = { closedAt: at, closeReason, moment };
			if (stream.frames.length > 0) this.onSeen?.(`streams closed: ${type}`);
		}
		for (const { key } of unit.put) {
			if (!key.startsWith("ex_") || key.includes("/")) continue;
			if (statesOf(key).at(-1)?.removing) this.#gone.add(key);
			else this.#checkClosing(key, statesOf);
		}
		for (const key of unit.removed) if (key.startsWith("ex_") && !key.includes("/")) this.#removed(key, unit);
	}

	/** What is appended together has one number, whatever modes there are in it. */
	#chunksWritten(unit: Unit, statesOf: StatesOf, moment: number): void {
		const written = new Map<WatchedStream, Map<number, Frame[]>>();
		for (const { key, bytes } of unit.blobs) {
			const [, id, attempt, chunk, letter] = CHUNK.exec(key) ?? [];
			if (id === undefined) continue;
			const stream = this.of(id, Number(attempt));
			if (stream.chunks.has(key)) throw new Violation(`${key} was written over`);
			if (stream.closing)
				throw new Violation(`stream ${stream.name}: frames came after it was closed (${stream.closing.closeReason})`);
			const frames = decodeChunk(Buffer.from(bytes).toString(), Number(chunk), MODES[letter ?? ""] as FrameMode);
			for (const frame of frames) this.#checkFence(stream, frame, statesOf(id), Number(attempt));
			if (stream.frames.length === 0) this.#begin(id, stream, statesOf(id));
			stream.chunks.set(key, frames);
			const chunks = written.get(stream) ?? new Map<number, Frame[]>();
			written.set(stream, chunks.set(Number(chunk), [...(chunks.get(Number(chunk)) ?? []), ...frames]));
			if (!unit.put.some((put) => put.key === `${id}/h${attempt}`))
				throw new Violation(`${key} was written, and nothing tells of it`);
		}
		for (const [stream, chunks] of written)
			for (const [number, frames] of [...chunks].sort(([a], [b]) => a - b))
				stream.wroteChunk(number, frames.sort(comparePositions), moment);
	}

	#begin(id: string, stream: WatchedStream, states: ReturnType<StatesOf>): void {
		const all = this.#byExecution.get(id) ?? [];
		if (!all.includes(stream)) this.#byExecution.set(id, [...all, stream]);
		stream.maxFrames = states.find((state) => state)?.policy.stream?.maxFrames ?? DEFAULT_MAX_FRAMES;
	}

	/** Whoever sent it held the work, and this attempt of it. */
	#checkFence({ name }: WatchedStream, frame: Frame, states: ReturnType<StatesOf>, attempt: number): void {
		const { leaseId } = nameOf(frame);
		const holds = (state: ExecutionRecord | undefined) =>
			state?.lease?.id === leaseId && state.lease.epoch === frame.epoch && state.attempt?.index === attempt;
		if (states.some(holds)) return;
		const held = states.map((state) => `${state?.lease?.id} in attempt ${state?.attempt?.index}`);
		throw new Violation(`stream ${name}: a frame of ${leaseId} was taken, held under ${held.join(", then ")}`);
	}

	#recordsWritten(unit: Unit): void {
		for (const { key, doc } of unit.put) {
			const [, id, letter, attempt] = PART.exec(key) ?? [];
			if (id === undefined || this.#gone.has(id)) continue;
			const stream = this.of(id, Number(attempt));
			if (letter === "y") stream.wroteSummary(kernel.decode(key, doc) as SummaryRecord);
			else stream.wroteHeader(kernel.decode(key, doc) as StreamRecord);
		}
	}

	#chunksRemoved(unit: Unit, statesOf: StatesOf, time: number): void {
		for (const key of unit.blobsRemoved) {
			const [, id, attempt] = CHUNK.exec(key) ?? [];
			if (id === undefined) continue;
			const stream = this.of(id, Number(attempt));
			const isGoing = statesOf(id).some((state) => !state || state.removing);
			if (!isGoing) {
				stream.trimmed(key, time);
				if (stream.chunks.has(key)) this.onSeen?.("chunks trimmed");
			}
			stream.chunks.delete(key);
		}
	}

	/** A stream that was closed stays so, as it was first. */
	#checkClosing(id: string, statesOf: StatesOf): void {
		for (const state of statesOf(id)) {
			if (!state?.attempt) continue;
			const { index, endedAt } = state.attempt;
			const { closing, name } = this.of(id, index);
			if (endedAt !== undefined && endedAt !== closing?.closedAt)
				throw new Violation(`stream ${name} was closed at ${closing?.closedAt}, and then at ${endedAt}`);
		}
		const { attempt } = statesOf(id).at(-1) ?? {};
		const { closing, name } = this.of(id, attempt?.index ?? 0);
		if (attempt && closing && attempt.endedAt === undefined)
			throw new Violation(`stream ${name} was closed, and is open`);
	}

	/** Whatever there was of it goes before it, or with it. */
	#removed(id: string, unit: Unit): void {
		this.#gone.add(id);
		for (const { chunks, frames } of this.#byExecution.get(id) ?? []) {
			const [left] = chunks.keys();
			if (left !== undefined && !unit.blobsRemoved.includes(left))
				throw new Violation(`${id} is gone, and ${left} stayed behind`);
			if (frames.length > 0) this.onSeen?.("streams removed");
		}
	}

	/** A holder was told that these are kept, in a call that began at `since`. */
	checkAppended(
		id: string,
		attempt: number,
		epoch: number,
		frames: readonly GivenFrame[],
		reply: AppendedFrames,
		since: number,
	): void {
		if (this.isGone(id)) return;
		const stream = this.of(id, attempt);
		for (const { type = "", seq = 0 } of frames) {
			// Numbers that come late, behind higher ones, are taken for repeats; whoever waits for answers has none.
			const isLate = !nameOf({ t: type }).isOrderly && seq > 0 && seq < stream.seqOf(epoch);
			if (!stream.has(type) && !isLate)
				throw new Violation(`stream ${stream.name}: ${type} was acknowledged, and is lost`);
		}
		const { lastId, frameCount, summaryVersion = 0 } = reply;
		const [fewest, most] = [stream.countAt(since), stream.frames.length];
		const [fewestPatches, mostPatches] = [
			stream.countAt(since, "summary"),
			stream.countAt(Number.MAX_VALUE, "summary"),
		];
		const isTrue =
			frameCount >= fewest &&
			frameCount <= most &&
			summaryVersion >= fewestPatches &&
			summaryVersion <= mostPatches &&
			frameIdOf(stream, frameCount) === lastId;
		if (!isTrue)
			throw new Violation(
				`stream ${stream.name} was told to be at ${JSON.stringify(reply)}, with ${fewest} to ${most} frames`,
			);
	}

	checkPage(
		id: string,
		attempt: number,
		page: FramePage,
		range: { from?: string | undefined; after?: string | undefined },
		since: number,
	): void {
		if (this.isGone(id)) return;
		const stream = this.of(id, attempt);
		const [from, after] = [range.from, range.after].map((at): FramePosition | undefined => framePosition(at ?? ""));
		stream.checkPage(page, { ...(from && { from }), ...(after && { after }) }, since);
		stream.checkClosing(page, since);
	}

	/** What was the end for somebody who asked for all behind it: nothing that was there before is shown. */
	endOf(id: string, attempt: number, page: TailedPage, since: number): string {
		const [first] = page.frames;
		if (this.isGone(id)) return first?.id ?? page.after ?? "start";
		const stream = this.of(id, attempt);
		const end = first ? stream.idBefore(first.id) : page.after;
		const before = stream.frames[stream.countAt(since) - 1];
		const position = framePosition(end ?? "");
		if (end === undefined || (before && (!position || comparePositions(before, position) > 0)))
			throw new Violation(`stream ${stream.name}: asked for what is behind its end, it was read from ${end}`);
		return end;
	}

	checkSummary(id: string, attempt: number, summary: SummaryView, since: number): void {
		if (!this.isGone(id)) this.of(id, attempt).checkSummary(summary, since);
	}

	/** What is said to be kept is, and nothing else. */
	checkStored(partitions: readonly SimPartition[]): void {
		for (const { blobs, records } of partitions) {
			for (const key of blobs.keys()) {
				const [, id, attempt] = CHUNK.exec(key) ?? [];
				if (id === undefined) continue;
				if (!records.has(id)) throw new Violation(`${id} is gone, and ${key} stayed behind`);
				if (!this.of(id, Number(attempt)).chunks.has(key)) throw new Violation(`${key} is kept, and was removed`);
			}
			for (const key of records.keys()) {
				const [, id] = PART.exec(key) ?? [];
				if (id !== undefined && !records.has(id)) throw new Violation(`${id} is gone, and ${key} stayed behind`);
			}
			for (const [id, streams] of this.#byExecution)
				if (records.has(id) && !this.isGone(id)) for (const stream of streams) stream.checkKept(blobs);
		}
	}
}

/** The id of the last of so many frames. */
function frameIdOf({ frames }: WatchedStream, count: number): string {
	const { chunk, place } = frames[count - 1] ?? {};
	return chunk === undefined ? "" : `${chunk}-${place}`;
}
