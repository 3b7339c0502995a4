import { FlowFabricError } from "../contract/errors.ts";
import { checkFrame } from "../contract/frames.ts";
import { type FrameRequest, frameRequest, MAX_FRAME_BYTES } from "../contract/streams.ts";
import { type HandlerRun, insist } from "./handler-run.ts";

/** How long small writes are gathered. What comes after a pause goes out at once. */
const GATHER_MS = 200;
/** What one call carries at most. */
const MOST_FRAMES = 500;
const MOST_BYTES = 512 * 1024;
/** A handler that writes faster than this can be kept waits. */
const MOST_WAITING_BYTES = 1024 * 1024;
const MOST_WAITING_FRAMES = 2000;

/** How a frame is kept. */
export interface FrameOptions {
	/** What kind of frame it is (`text`, or `data` for bytes). */
	type?: string;
	/** How it is kept: `best_effort` is for what nobody misses later (`durable`). */
	mode?: "durable" | "best_effort";
	/** How long a frame of best effort is shown (60000). */
	ttlMs?: number;
}

/** What a handler tells while it runs. Small writes travel together; what is awaited is room, not the store. */
export interface StreamWriter {
	/** Text as it comes, such as the tokens of a model. */
	write(text: string, options?: FrameOptions): Promise<void>;
	/** Anything else: bytes, or a value that is written as JSON. */
	event(type: string, payload: unknown, options?: Omit<FrameOptions, "type">): Promise<void>;
	/** Changes the summary of the attempt by a JSON Merge Patch. */
	summary(patch: unknown): Promise<void>;
	/** Resolves when all that was written is kept. */
	flush(): Promise<void>;
}

interface Waiting {
	frame: FrameRequest;
	bytes: number;
}

/** Gathers frames of one run and appends them, in order and each once, as long as the lease lasts. */
export class FrameWriter implements StreamWriter {
	readonly #run: HandlerRun;
	#queue: Waiting[] = [];
	#bytes = 0;
	#seq = 0;
	#lastSentAt = Number.NEGATIVE_INFINITY;
	#disarm: (() => void) | undefined;
	#sending: Promise<void> | undefined;
	/** Why nothing more can be written. */
	#failure: unknown;
	/** Why patches were dropped, for whoever asks next. */
	#dropped: unknown;

	constructor(run: HandlerRun) {
		this.#run = run;
	}

	readonly write: StreamWriter["write"] = async (text, options = {}) => {
		for (const piece of pieces(String(text))) await this.#add({ text: piece, ...options });
	};

	readonly event: StreamWriter["event"] = async (type, payload, options = {}) => {
		if (payload instanceof Uint8Array)
			return this.#add({ type, payloadBase64: Buffer.from(payload).toString("base64"), ...options });
		return this.#add({ type, text: JSON.stringify(payload) ?? "null", ...options });
	};

	/** As it is now: it may be another by the time it is sent. */
	readonly summary: StreamWriter["summary"] = async (patch) => {
		const text: string | undefined = JSON.stringify(patch);
		this.#tellDropped();
		return this.#add({ mode: "summary", patch: text === undefined ? undefined : JSON.parse(text) });
	};

	readonly flush: StreamWriter["flush"] = async () => {
		await this.sent();
		this.#tellDropped();
	};

	/** Sends what waits. Patches that were dropped are left for the handler to be told. */
	async sent(): Promise<void> {
		while (this.#queue.length > 0 && !this.#failure) await this.#send();
		await this.#sending;
		if (this.#failure) throw this.#failure;
	}

	async #add(frame: FrameRequest): Promise<void> {
		if (this.#run.over) throw this.#run.over;
		if (this.#failure) throw this.#failure;
		// Here and not by the store: a bad frame would take those with it that travel beside it.
		const bytes = checkFrame(frameRequest.check(frame), "frame");
		this.#queue.push({ frame: { ...frame, seq: ++this.#seq }, bytes });
		this.#bytes += bytes;
		this.#arm();
		while (this.#bytes > MOST_WAITING_BYTES || this.#queue.length > MOST_WAITING_FRAMES) await this.#send();
		if (this.#failure) throw this.#failure;
	}

	#arm(): void {
		if (this.#disarm || this.#sending) return;
		const { clock } = this.#run;
		const sinceLast = clock.monotonic() - this.#lastSentAt;
		const isFull = this.#bytes >= MOST_BYTES || this.#queue.length >= MOST_FRAMES;
		const wait = isFull ? 0 : Math.max(0, GATHER_MS - sinceLast);
		this.#disarm = clock.setTimer(wait, () => void this.#send());
	}

	/** One call at a time: frames are kept in the order they were written. Never rejects. */
	#send(): Promise<void> {
		this.#disarm?.();
		this.#disarm = undefined;
		this.#sending ??= this.#sendSome().finally(() => {
			this.#sending = undefined;
			if (this.#queue.length > 0 && !this.#failure) this.#arm();
		});
		return this.#sending;
	}

	async #sendSome(): Promise<void> {
		const taken = this.#take();
		if (taken.length === 0) return;
		this.#lastSentAt = this.#run.clock.monotonic();
		try {
			await this.#append(taken);
		} catch (error) {
			this.#failure = error;
			this.#queue = [];
			this.#bytes = 0;
		}
	}

	async #append(frames: FrameRequest[]): Promise<void> {
		const { backend, id, fence } = this.#run;
		try {
			await insist(this.#run, () => backend.leases.appendFrames(id, { fence, frames }));
		} catch (error) {
			if (!(error instanceof FlowFabricError) || error.code !== "summary_too_large") throw error;
			this.#dropped = error;
			this.#run.log.warn(`a patch was dropped: ${error.message}`);
			// A summary that has grown too long costs nothing of what travels beside it.
			const others = frames.filter(({ mode }) => mode !== "summary");
			if (others.length > 0) await this.#append(others);
		}
	}

	/** Once: a later patch may fit again. */
	#tellDropped(): void {
		const dropped = this.#dropped;
		this.#dropped = undefined;
		if (dropped) throw dropped;
	}

	#take(): FrameRequest[] {
		let count = 0;
		let bytes = 0;
		for (const { bytes: more } of this.#queue) {
			if (count === MOST_FRAMES || (count > 0 && bytes + more > MOST_BYTES)) break;
			count += 1;
			bytes += more;
		}
		this.#bytes -= bytes;
		return this.#queue.splice(0, count).map(({ frame }) => frame);
	}
}

/** Text in pieces that fit into a frame; no character is cut. */
function* pieces(text: string): Generator<string> {
	if (Buffer.byteLength(text) <= MAX_FRAME_BYTES) {
		yield text;
		return;
	}
	// A character takes at most three bytes per unit.
	const most = Math.floor(MAX_FRAME_BYTES / 3);
	for (let from = 0; from < text.length; ) {
		let to = Math.min(text.length, from + most);
		const last = text.charCodeAt(to - 1);
		if (to < text.length && last >= 0xd800 && last <= 0xdbff) to -= 1;
		yield text.slice(from, to);
		from = to;
	}
}
