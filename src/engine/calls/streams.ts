import type { FollowFramesOptions, StreamCalls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import type { FramePage, SummaryView, TailedPage } from "../../contract/replies.ts";
import { manyMayListen } from "../../contract/signals.ts";
import * as shapes from "../../contract/streams.ts";
import { type SummaryRecord, summaryDefaults, summaryKey } from "../../kernel/records/stream.ts";
import { type FramePosition, frameId, framePosition } from "../../kernel/streams/chunks.ts";
import { readFrames, readStream, type StreamName } from "../streams/frame-reader.ts";
import type { SharedTail } from "../streams/shared-tail.ts";
import type { Session } from "./session.ts";

const DEFAULT_FRAMES = 1000;

/** The streams of attempts on an engine in this process. */
export class LocalStreams implements StreamCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async read(id: string, attempt: number, request: shapes.ReadFramesRequest = {}): Promise<FramePage> {
		const { from, to, limit = DEFAULT_FRAMES } = shapes.readFramesRequest.check(request);
		const name = nameOf(id, attempt);
		const range = { from: from && framePosition(from), to: to && framePosition(to), limit };
		return readFrames(await readStream(this.#session, name), name, range as never);
	}

	async summary(id: string, attempt: number): Promise<SummaryView> {
		const { runner } = await readStream(this.#session, nameOf(id, attempt));
		const { records } = await runner.ask((store, partition) => store.read(partition, [summaryKey(id, attempt)]));
		const [stored] = records;
		const known = stored && stored.version > 0 ? this.#session.decode<SummaryRecord>(stored) : summaryDefaults;
		const { documents, version, updatedAt } = known;
		return { document: documents[0] ?? null, version, updatedAt };
	}

	async tail(
		id: string,
		attempt: number,
		request: shapes.TailFramesRequest = {},
		signal?: AbortSignal,
	): Promise<TailedPage> {
		const { after = "start", waitMs = 0, limit = DEFAULT_FRAMES } = shapes.tailFramesRequest.check(request);
		const name = nameOf(id, attempt);
		const { clock } = this.#session.engine;
		const deadline = clock.monotonic() + waitMs;
		return this.#following(name, after, async (tail, position) => {
			for (;;) {
				const { change, disarm } = tail.changed();
				const page = await tail.page(position, limit);
				const left = deadline - clock.monotonic();
				if (page.frames.length > 0 || page.closedAt !== undefined || left <= 0) {
					disarm();
					return page.frames.length === 0 && after === "end" ? { ...page, after: nameOfEnd(position) } : page;
				}
				await this.#until(change, disarm, left, signal);
				signal?.throwIfAborted();
			}
		});
	}

	/** Page after page as frames come; ends with the stream. */
	async *follow(id: string, attempt: number, options: FollowFramesOptions = {}): AsyncGenerator<FramePage> {
		const { signal, ...request } = options;
		const { after = "start" } = shapes.followFramesRequest.check(request);
		const name = nameOf(id, attempt);
		const tail = this.#enter(name);
		try {
			let position = await this.#start(name, after);
			while (!signal?.aborted) {
				const { change, disarm } = tail.changed();
				const page = await tail.page(position, DEFAULT_FRAMES);
				const last = page.frames.at(-1);
				if (last) position = framePosition(last.id);
				if (last || page.closedAt !== undefined) {
					disarm();
					yield page;
					if (page.closedAt !== undefined && page.nextFrom === undefined) return;
				} else await this.#until(change, disarm, undefined, signal);
			}
		} finally {
			tail.leave();
		}
	}

	async #following<T>(
		name: StreamName,
		after: string,
		use: (tail: SharedTail, position: FramePosition | undefined) => Promise<T>,
	): Promise<T> {
		const tail = this.#enter(name);
		try {
			return await use(tail, await this.#start(name, after));
		} finally {
			tail.leave();
		}
	}

	#enter({ id, attempt }: StreamName): SharedTail {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		engine.partitionOf(id);
		const tail = engine.streamTails.of(this.#session, { id, attempt });
		tail.enter();
		return tail;
	}

	async #start(name: StreamName, after: string): Promise<FramePosition | undefined> {
		if (after === "start") return undefined;
		if (after !== "end") return framePosition(after);
		const { stream } = await readStream(this.#session, name);
		return framePosition(stream.lastId);
	}

	async #until(
		change: Promise<void>,
		disarm: () => void,
		withinMs: number | undefined,
		signal: AbortSignal | undefined,
	): Promise<void> {
		const { engine } = this.#session;
		const stop = withinMs === undefined ? undefined : engine.clock.setTimer(withinMs, disarm);
		manyMayListen(signal);
		signal?.addEventListener("abort", disarm);
		await change;
		stop?.();
		signal?.removeEventListener("abort", disarm);
		disarm();
		if (engine.closed) throw new FlowFabricError("shutting_down");
	}
}

/** What `after` stands for it, by whatever the stream has become. */
const nameOfEnd = (position: FramePosition | undefined): string => (position ? frameId(position) : "start");

function nameOf(id: string, attempt: number): StreamName {
	shapes.attemptIndex.check({ attempt });
	return { id, attempt };
}
