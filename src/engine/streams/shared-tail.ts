import type { FramePage, FrameView } from "../../contract/replies.ts";
import { streamKey } from "../../kernel/records/stream.ts";
import { comparePositions, type FramePosition, framePosition } from "../../kernel/streams/chunks.ts";
import type { Session } from "../calls/session.ts";
import { readFrames, readStream, type StreamName } from "./frame-reader.ts";

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
	#frames: FrameView[] = [];
	#closing: Pick<FramePage, "closedAt" | "closeReason"> | undefined;
	#isFirst = true;
	/** Something may have changed that was not read yet. */
	#isStale = true;
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

	enter(): void {
		this.#users += 1;
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
		await this.#refresh();
		const isRemembered = this.#from ? after && comparePositions(after, this.#from) >= 0 : true;
		if (!isRemembered) return readFrames(await readStream(this.#session, this.#name), this.#name, { after, limit });
		const frames = after ? this.#frames.filter(({ id }) => isBehind(id, after)) : this.#frames;
		if (frames.length <= limit) return { frames, ...this.#closing };
		const page = frames.slice(0, limit);
		return { frames: page, nextFrom: frames[limit]?.id ?? "", ...this.#closing };
	}

	/** Reads what has come, once for all who ask meanwhile. What could not be read is tried again by whoever asks next. */
	async #refresh(): Promise<void> {
		while (this.#isStale) {
			this.#reading ??= this.#read().finally(() => {
				this.#reading = undefined;
			});
			await this.#reading;
		}
	}

	async #read(): Promise<void> {
		this.#isStale = false;
		try {
			const state = await readStream(this.#session, this.#name);
			// What was there before anybody followed is for each to read: it may be long.
			if (this.#isFirst) this.#from = framePosition(state.stream.lastId);
			this.#isFirst = false;
			this.#closing = state.closing;
			for (;;) {
				const { frames, nextFrom } = await readFrames(state, this.#name, { after: this.#last(), limit: PAGE });
				this.#remember(frames);
				if (nextFrom === undefined) break;
			}
		} catch (error) {
			this.#isStale = true;
			throw error;
		}
	}

	#last(): FramePosition | undefined {
		const last = this.#frames.at(-1);
		return last ? framePosition(last.id) : this.#from;
	}

	#remember(frames: readonly FrameView[]): void {
		this.#frames = [...this.#frames, ...frames];
		let chars = this.#frames.reduce((sum, frame) => sum + lengthOf(frame), 0);
		let excess = 0;
		while (this.#frames.length - excess > MOST_REMEMBERED || chars > MOST_REMEMBERED_CHARS) {
			chars -= lengthOf(this.#frames[excess] as FrameView);
			excess += 1;
		}
		if (excess === 0) return;
		this.#from = framePosition(this.#frames[excess - 1]?.id ?? "");
		this.#frames = this.#frames.slice(excess);
	}

	#wake(): void {
		for (const wake of this.#waiting) wake();
		this.#waiting.clear();
	}
}

/** About how much it takes to remember a frame. */
const lengthOf = ({ text, payloadBase64, patch }: FrameView): number =>
	100 + (text ?? payloadBase64 ?? JSON.stringify(patch)).length;

const isBehind = (id: string, after: FramePosition): boolean => {
	const position = framePosition(id);
	return position !== undefined && comparePositions(position, after) > 0;
};
