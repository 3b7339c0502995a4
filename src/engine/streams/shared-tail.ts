import type { FramePage, FrameView } from "../../contract/replies.ts";
import { streamKey } from "../../kernel/records/stream.ts";
import { comparePositions, type Frame, type FramePosition, framePosition } from "../../kernel/streams/chunks.ts";
import { isShown } from "../../kernel/streams/keeping.ts";
import type { Session } from "../calls/session.ts";
import { readFrames, readStream, type StreamName, type StreamState, shownFrames, viewOf } from "./frame-reader.ts";

/** What is remembered of the end of a stream, for those that follow it closely. */
const MOST_REMEMBERED = 512;
const MOST_REMEMBERED_CHARS = 1024 * 1024;
const PAGE = 1000;

/**
 * The end of one stream as everybody in this process sees it who follows it: it is read once, however many there are. Who
 * cannot keep up reads the store alone, at its own pace, and holds up nobody.
 */
export class SharedTail {
	readonly #session: Session;
	readonly #name: StreamName;
	readonly #onUnused: () => void;
	readonly #waiting = new Set<() => void>();
	readonly #stop: (() => void)[];
	/** Everything behind this position is remembered. */
	#from: FramePosition | undefined;
	readonly #frames: { frame: Frame; view: FrameView; length: number }[] = [];
	#length = 0;
	/** As it was last read. */
	#state: StreamState | undefined;
	/** Something may have changed that was not read yet. */
	#isStale = true;
	/** Somebody has asked since it was last read, and is to be shown what was kept before, whoever heard of that. */
	#isAsked = false;
	#reading: Promise<void> | undefined;
	#users = 0;

	constructor(session: Session, name: StreamName, onUnused: () => void) {
		const { engine } = session;
		this.#session = session;
		this.#name = name;
		this.#onUnused = onUnused;
		const partition = engine.partitionOf(name.id);
		const changed = () => {
			this.#isStale = true;
			this.#wake();
		};
		this.#stop = [name.id, streamKey(name.id, name.attempt)].flatMap((key) => [
			engine.watchers.add(key, changed),
			engine.store.watch(partition, key),
		]);
	}

	get users(): number {
		return this.#users;
	}

	enter(): void {
		this.#users += 1;
		this.#isAsked = true;
	}

	leave(): void {
		this.#users -= 1;
		if (this.#users > 0) return;
		for (const stop of this.#stop) stop();
		this.#onUnused();
	}

	/** Resolves with the next change; `disarm` for who no longer waits. */
	changed(): { change: Promise<void>; disarm(): void } {
		let wake = () => {};
		const change = new Promise<void>((resolve) => (wake = resolve));
		this.#waiting.add(wake);
		return {
			change,
			disarm: () => {
				this.#waiting.delete(wake);
				wake();
			},
		};
	}

	/** What is behind a position by now. */
	async page(after: FramePosition | undefined, limit: number): Promise<FramePage> {
		const { runner, stream, maxFrames, closing } = await this.#refresh();
		const isRemembered = this.#from ? after && comparePositions(after, this.#from) >= 0 : true;
		if (!isRemembered) return readFrames(await readStream(this.#session, this.#name), this.#name, { after, limit });
		const now = runner.time.now();
		const behind = this.#frames.filter(
			({ frame }) => (!after || comparePositions(frame, after) > 0) && isShown(frame, stream, maxFrames, now),
		);
		const next = behind[limit];
		return {
			frames: behind.slice(0, limit).map(({ view }) => view),
			...(next ? { nextFrom: next.view.id } : undefined),
			...closing,
		};
	}

	/**
	 * Reads what has come, once for all who ask meanwhile. One that began before this was asked may have missed something, the
	 * one after it has not; what comes during that one is for the next call, or a busy stream would never be shown. Nor is
	 * what that one failed over an answer to this.
	 */
	async #refresh(): Promise<StreamState> {
		await this.#reading?.catch(() => {});
		if (this.#reading || this.#isStale || this.#isAsked || !this.#state) await this.#begin();
		return this.#state as StreamState;
	}

	/** What could not be read is tried again by whoever asks next. */
	#begin(): Promise<void> {
		this.#reading ??= this.#read().finally(() => {
			this.#reading = undefined;
		});
		return this.#reading;
	}

	async #read(): Promise<void> {
		const before = this.#isStale ? undefined : this.#state;
		this.#isStale = this.#isAsked = false;
		try {
			const state = await readStream(this.#session, this.#name);
			// What was there before anybody followed is for each to read: it may be long.
			if (!this.#state) this.#from = framePosition(state.stream.lastId);
			for (let isMore = true; isMore; ) {
				const { frames, nextFrom } = await shownFrames(state, this.#name, { after: this.#last(), limit: PAGE });
				this.#remember(frames);
				isMore = nextFrom !== undefined;
			}
			this.#state = state;
			// Nobody here was told of that.
			if (before && isBehind(before, state)) this.#wake();
		} catch (error) {
			this.#isStale = true;
			throw error;
		}
	}

	#last(): FramePosition | undefined {
		return this.#frames.at(-1)?.frame ?? this.#from;
	}

	#remember(frames: readonly Frame[]): void {
		for (const frame of frames) {
			const view = viewOf(frame, this.#name.attempt);
			const length = lengthOf(view);
			this.#frames.push({ frame, view, length });
			this.#length += length;
		}
		let excess = 0;
		while (this.#frames.length - excess > MOST_REMEMBERED || this.#length > MOST_REMEMBERED_CHARS) {
			this.#length -= this.#frames[excess]?.length ?? 0;
			excess += 1;
		}
		if (excess === 0) return;
		this.#from = this.#frames[excess - 1]?.frame;
		this.#frames.splice(0, excess);
	}

	#wake(): void {
		for (const wake of this.#waiting) wake();
		this.#waiting.clear();
	}
}

/** Whether more is known by now. */
const isBehind = (before: StreamState, { stream, closing }: StreamState): boolean =>
	before.stream.next !== stream.next || before.closing?.closedAt !== closing?.closedAt;

/** About how much it takes to remember a frame. */
const lengthOf = ({ text, payloadBase64, patch }: FrameView): number =>
	100 + (text ?? payloadBase64 ?? JSON.stringify(patch)).length;
