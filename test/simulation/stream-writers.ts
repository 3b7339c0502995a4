import type { Held } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import { frameName, type GivenFrame, someFrame } from "./stream-frames.ts";

/** What a holder has sent under its lease. */
interface Writer {
	held: Held;
	/** Whether it waits for an answer before it sends the next. */
	isOrderly: boolean;
	/** Frames that it has not heard of yet. */
	pending: readonly GivenFrame[] | undefined;
	frames: number;
	seq: number;
}

const LATER_MS = [0, 0, 5, 50, 400, 2000];
const MOST_WRITERS = 60;
const MOST_SENT = 4;

/** Holders that tell what they do while they run, and say it again when they hear nothing, or long after. */
export class StreamWriters {
	readonly #stage: Stage;
	readonly #writers = new Map<string, Writer>();
	/** What was answered before. */
	readonly #answered = new WeakSet<readonly GivenFrame[]>();

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	/** Somebody who holds work, or did, appends to its stream, perhaps several times, and perhaps does not notice its end. */
	append(held: Held): void {
		const { random, world } = this.#stage;
		if (random.chance(0.6)) world.after(random.pick([1, 10, 100]), () => this.append(held));
		const writer = this.#writerOf(held);
		if (writer.isOrderly && writer.pending) return;
		const isNumbered = random.chance(0.8);
		const frames = this.#someFrames(writer, isNumbered);
		// Without a number nobody could tell a repeat from a frame of its own.
		if (!isNumbered) return this.#send(writer, frames, 1);
		writer.pending = frames;
		this.#send(writer, frames, MOST_SENT);
		// Twice at once, most likely to two engines; and once more when nobody expects it.
		if (random.chance(0.2)) this.#send(writer, frames, 1);
		if (random.chance(0.2)) world.after(random.pick(LATER_MS), () => this.#send(writer, frames, 1));
	}

	#writerOf(held: Held): Writer {
		const { leaseId } = held.fence;
		const known = this.#writers.get(leaseId);
		if (known) return known;
		const isOrderly = this.#stage.random.chance(0.7);
		const made: Writer = { held, isOrderly, pending: undefined, frames: 0, seq: 0 };
		this.#writers.set(leaseId, made);
		if (this.#writers.size > MOST_WRITERS) this.#writers.delete([...this.#writers.keys()][0] ?? "");
		return made;
	}

	/** A few, or so many that there is something to let go of. */
	#someFrames(writer: Writer, isNumbered: boolean): GivenFrame[] {
		const { random, checker } = this.#stage;
		const { maxFrames = 0 } = checker.recordOf(writer.held.id)?.policy.stream ?? {};
		const count = maxFrames > 0 && random.chance(0.5) ? random.integer(30, 90) : random.integer(1, 3);
		return Array.from({ length: count }, () => {
			const type = frameName(writer.held, ++writer.frames, writer.isOrderly);
			return { ...someFrame(random), type, ...(isNumbered ? { seq: ++writer.seq } : undefined) };
		});
	}

	/** `times` is how often it is sent at most, until it is answered. */
	#send(writer: Writer, frames: GivenFrame[], times: number): void {
		const { checker, random, world } = this.#stage;
		const { id, fence } = writer.held;
		const isAsked = this.#stage.call(
			(backend) => backend.leases.appendFrames(id, { fence, frames }),
			(heard, since) => {
				if (heard.kind === "unknown") {
					// Whoever never hears whether these are kept sends no others.
					if (times > 1) world.after(random.pick(LATER_MS), () => this.#send(writer, frames, times - 1));
					return;
				}
				const command = { op: "appendFrames", executionId: id, fence, frames: [{ mode: "durable", text: "{}" }] };
				const reply =
					heard.kind === "ok" ? ({ ok: true } as const) : ({ ok: false, code: heard.code, details: {} } as const);
				checker.checkReply("appendFrames", command, reply, since);
				if (heard.kind === "refused") return this.#stage.note(`appends refused: ${heard.code}`);
				if (writer.pending === frames) writer.pending = undefined;
				this.#stage.note(this.#answered.has(frames) ? "appends repeated" : "appends answered");
				this.#answered.add(frames);
				const { attempt } = checker.during(id, since).find((state) => state?.lease?.id === fence.leaseId) ?? {};
				if (attempt) checker.streams.checkAppended(id, attempt.index, fence.epoch, frames, heard.value, since);
			},
		);
		if (!isAsked && times > 1) world.after(100, () => this.#send(writer, frames, times - 1));
	}
}
