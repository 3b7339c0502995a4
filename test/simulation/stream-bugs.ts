import type { FramePage } from "../../src/contract/replies.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Kernel, Rules } from "../../src/kernel/kernel.ts";
import type { AttemptRecord } from "../../src/kernel/records/attempt.ts";
import type { ExecutionRecord, Lease } from "../../src/kernel/records/execution.ts";
import { amend } from "../../src/kernel/records/record.ts";
import type { StreamRecord, SummaryRecord } from "../../src/kernel/records/stream.ts";
import type { AppendFramesCommand } from "../../src/kernel/rules/append-frames.ts";
import { DEFAULT_MAX_FRAMES } from "../../src/kernel/streams/keeping.ts";
import type { Json } from "../../src/kernel/streams/merge-patch.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { bent, isExecution, type Misreading, type Miswriting, reading, writing } from "./bent-tx.ts";

/** Bugs that rules about streams can have, and those who read them. */
export interface StreamBugs {
	frameSentAgainKept?: boolean;
	framesOfDeadLeases?: boolean;
	closedStreamTakes?: boolean;
	attemptsMixed?: boolean;
	streamReopened?: boolean;
	closeReasonChanged?: boolean;
	chunkLost?: boolean;
	chunkWrittenOver?: boolean;
	trimmedEarly?: boolean;
	trimmedStays?: boolean;
	patchesForgotten?: boolean;
	nullsKept?: boolean;
	framesStayBehind?: boolean;
	headersStayBehind?: boolean;
	closeUnheard?: boolean;
	appendUnheard?: boolean;
	tailsFromCache?: boolean;
	lastFrameShownAgain?: boolean;
	endTooEarly?: boolean;
	frameSkipped?: boolean;
	closedBeforeTheEnd?: boolean;
}

type AnyRule = (tx: Tx, command: never, now: number) => unknown;

const isHeader = (key: string): boolean => /^ex_\w+\/h/.test(key);
const isChunk = (key: string): boolean => /^ex_\w+\/f/.test(key);

export function withStreamBugs(kernel: Kernel, bugs: StreamBugs): Kernel {
	const { rules } = kernel;
	const changed = { ...rules };
	/** These rules see, and do, what `bend` makes of it. */
	const through = (ops: readonly (keyof Rules)[], bend: (tx: Tx) => Tx) => {
		for (const op of ops) {
			const rule = changed[op] as AnyRule;
			const crooked: AnyRule = (tx, command, now) => rule(bend(tx), command, now);
			Object.assign(changed, { [op]: crooked });
		}
	};
	if (bugs.frameSentAgainKept) through(["appendFrames"], (tx) => reading(tx, withoutSeq));
	if (bugs.framesOfDeadLeases)
		changed.appendFrames = (tx, command, now) => rules.appendFrames(tx, withLiveFence(tx, command), now);
	if (bugs.closedStreamTakes) through(["appendFrames"], (tx) => writing(reading(tx, stillHeld), unlessOver));
	if (bugs.attemptsMixed) through(["appendFrames"], (tx) => reading(tx, inFirstAttempt));
	if (bugs.streamReopened) through(["replay"], (tx) => writing(tx, reopened));
	if (bugs.closeReasonChanged) through(["claim", "acceptGrant"], (tx) => writing(tx, endedOtherwise));
	if (bugs.chunkLost) through(["appendFrames"], losingChunks);
	if (bugs.chunkWrittenOver) through(["appendFrames"], (tx) => writing(tx, withSameNext));
	if (bugs.trimmedEarly) through(["appendFrames"], (tx) => reading(tx, countedTooHigh));
	if (bugs.trimmedStays) through(["appendFrames"], keepingChunks);
	if (bugs.patchesForgotten) through(["appendFrames"], (tx) => reading(tx, withoutDocument));
	if (bugs.nullsKept) changed.appendFrames = (tx, command, now) => rules.appendFrames(tx, withoutNulls(command), now);
	if (bugs.framesStayBehind) through(["delete", "tick"], keepingChunks);
	if (bugs.headersStayBehind) through(["delete", "tick"], keepingHeaders);
	return { ...kernel, rules: changed };
}

const withoutSeq: Misreading = (key, record) =>
	record && isHeader(key) ? { as: amend(record as StreamRecord, { seq: 0 }) } : undefined;

function withLiveFence(tx: Tx, command: AppendFramesCommand): AppendFramesCommand {
	const { lease } = tx.get<ExecutionRecord>(command.executionId) ?? {};
	return lease ? { ...command, fence: { leaseId: lease.id, epoch: lease.epoch } } : command;
}

/** Whoever held an attempt that is over is taken to hold it. */
const stillHeld: Misreading = (key, record) => {
	if (!record || !isExecution(key)) return undefined;
	const { lease, lastLease, attempt } = record as ExecutionRecord;
	if (lease || !lastLease || attempt?.endedAt === undefined) return undefined;
	return { as: amend(record as ExecutionRecord, { lease: { ...lastLease } as unknown as Lease }) };
};

const unlessOver: Miswriting = (key, record) =>
	isExecution(key) && (record as ExecutionRecord).attempt?.endedAt !== undefined ? null : record;

const inFirstAttempt: Misreading = (key, record) => {
	const { attempt } = (record ?? {}) as Partial<ExecutionRecord>;
	if (!isExecution(key) || !attempt) return undefined;
	return { as: amend(record as ExecutionRecord, { attempt: { ...attempt, index: 0 } }) };
};

const reopened: Miswriting = (key, record) => {
	const { attempt } = record as ExecutionRecord;
	if (!isExecution(key) || !attempt) return record;
	const { endedAt: _, ...open } = attempt;
	return amend(record as ExecutionRecord, { attempt: { ...open, state: "started" } });
};

/** An attempt whose lease was lost is said to have failed, once the next has begun. */
const endedOtherwise: Miswriting = (key, record) => {
	const { attempt } = record as AttemptRecord;
	if (!/^ex_\w+\/a/.test(key) || attempt?.state !== "interrupted_reclaimed") return record;
	return amend(record as AttemptRecord, { attempt: { ...attempt, state: "ended_failure" } });
};

const losingChunks = (tx: Tx): Tx =>
	bent(tx, { putBlob: (blob: Parameters<Tx["putBlob"]>[0]) => blob.key.endsWith(".3") || tx.putBlob(blob) });

const withSameNext: Miswriting = (key, record) =>
	isHeader(key) && (record as StreamRecord).next === 3 ? amend(record as StreamRecord, { next: 2 }) : record;

/** There seem to be more frames than may be kept. */
const countedTooHigh: Misreading = (key, record) => {
	if (!record || !isHeader(key)) return undefined;
	const { durable } = record as StreamRecord;
	return { as: amend(record as StreamRecord, { durable: { ...durable, kept: durable.kept + DEFAULT_MAX_FRAMES } }) };
};

const keepingChunks = (tx: Tx): Tx => bent(tx, { removeBlob: (key: string) => isChunk(key) || tx.removeBlob(key) });

const keepingHeaders = (tx: Tx): Tx => bent(tx, { remove: (key: string) => isHeader(key) || tx.remove(key) });

const withoutDocument: Misreading = (key, record) =>
	record && /^ex_\w+\/y/.test(key) ? { as: amend(record as SummaryRecord, { documents: [] }) } : undefined;

function withoutNulls(command: AppendFramesCommand): AppendFramesCommand {
	const clean = (patch: Json): Json =>
		typeof patch === "object" && patch !== null && !Array.isArray(patch)
			? Object.fromEntries(
					Object.entries(patch).flatMap(([name, value]) => (value === null ? [] : [[name, clean(value)]])),
				)
			: patch;
	const frames = command.frames.map((frame) =>
		frame.patch === undefined ? frame : { ...frame, patch: clean(frame.patch) },
	);
	return { ...command, frames };
}

/** Bugs of those who read streams, and of what wakes them. */
export function plantInReaders({ streams, engine }: LocalBackend, bugs: StreamBugs): void {
	if (bugs.closeUnheard) unwatch(engine, isExecution);
	if (bugs.appendUnheard) unwatch(engine, isHeader);
	if (bugs.tailsFromCache) rememberTails(streams, engine);
	if (bugs.lastFrameShownAgain) {
		const { tail, read } = streams;
		streams.tail = async (id, attempt, request = {}, signal) =>
			request.after && request.after !== "start"
				? read.call(streams, id, attempt, { from: request.after })
				: tail.call(streams, id, attempt, request, signal);
	}
	if (bugs.endTooEarly) {
		const { tail } = streams;
		streams.tail = (id, attempt, request = {}, signal) =>
			tail.call(
				streams,
				id,
				attempt,
				{ ...request, ...(request.after === "end" ? { after: "start" } : undefined) },
				signal,
			);
	}
	if (bugs.frameSkipped) bendPages(streams, (page) => ({ ...page, frames: page.frames.filter((_, n) => n !== 1) }));
	if (bugs.closedBeforeTheEnd)
		bendPages(streams, ({ nextFrom: _, ...page }) => (page.closedAt === undefined ? page : { ...page, frames: [] }));
}

/** What happens to some records is not heard of by whoever waits for it. */
function unwatch({ watchers }: Engine, isDeafTo: (key: string) => boolean): void {
	const { add } = watchers;
	watchers.add = (subject, callback) => (isDeafTo(subject) ? () => {} : add.call(watchers, subject, callback));
}

const REMEMBERED_MS = 2000;

/** Whoever asks for the same within a while is given the same. */
function rememberTails(streams: LocalBackend["streams"], { clock }: Engine): void {
	const { tail } = streams;
	const known = new Map<string, { at: number; page: FramePage }>();
	streams.tail = async (id, attempt, request = {}, signal) => {
		const name = `${id} ${attempt} ${request.after} ${request.limit}`;
		const last = known.get(name);
		if (last && last.at + REMEMBERED_MS > clock.monotonic()) return last.page;
		const page = await tail.call(streams, id, attempt, request, signal);
		known.set(name, { at: clock.monotonic(), page });
		return page;
	};
}

function bendPages(streams: LocalBackend["streams"], bend: (page: FramePage) => FramePage): void {
	const { tail, read } = streams;
	streams.tail = async (...given) => bend(await tail.apply(streams, given));
	streams.read = async (...given) => bend(await read.apply(streams, given));
}
