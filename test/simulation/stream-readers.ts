import type { TailedPage } from "../../src/contract/replies.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { hasEnded } from "../../src/kernel/state.ts";
import { comparePositions, framePosition } from "../../src/kernel/streams/chunks.ts";
import type { Stage } from "./stage.ts";
import { asTenant, otherThan, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** Somebody who wants all of a stream, up to its end. */
interface Tail {
	id: string;
	attempt: number;
	/** The last frame that was seen; before that where to begin, start or end. */
	after: string;
	/** Over one connection for as long as it lasts, or page by page. */
	follows: boolean;
	/** How many engines failed it. */
	moved: number;
}

const MOST_TAILS = 6;
const LATER_MS = [0, 5, 100];

/** Those who read what work tells: ranges, summaries, and tails that go on at another engine where one has failed them. */
export class StreamReaders {
	readonly #stage: Stage;
	readonly #known: readonly string[];
	readonly #tails = new Set<Tail>();

	/** `known` are the executions they may have heard of. */
	constructor(stage: Stage, known: readonly string[]) {
		this.#stage = stage;
		this.#known = known;
	}

	act(): void {
		const { random } = this.#stage;
		const id = this.#someone();
		if (id === undefined) return;
		const attempt = this.#someAttempt(id);
		switch (random.weighted({ tail: 5, range: 4, summary: 3, intrude: 1 })) {
			case "tail":
				return this.#start(id, attempt);
			case "range":
				return this.#read(id, attempt, undefined);
			case "summary":
				return this.#readSummary(id, attempt);
			case "intrude":
				return this.#intrude(id);
		}
	}

	/** Everything that is followed has ended, so whoever follows has heard of that. */
	checkEnded(): void {
		for (const { id, attempt, after, follows } of this.#tails)
			throw new Violation(
				`stream ${id}/${attempt} is over, and who ${follows ? "follows" : "polls"} waits behind ${after}`,
			);
	}

	/** Whether all who want this stream have seen it up to a frame. */
	haveSeen(attempt: number, frame: string): boolean {
		const position = framePosition(frame);
		return [...this.#tails].every((tail) => {
			const seen = framePosition(tail.after);
			return tail.attempt !== attempt || (position && seen && comparePositions(seen, position) >= 0);
		});
	}

	get areAllDone(): boolean {
		return this.#tails.size === 0;
	}

	#someone(): string | undefined {
		const { random, checker } = this.#stage;
		const { executions } = checker.streams;
		if (executions.length > 0 && random.chance(0.5)) return random.pick(executions.slice(-8));
		return this.#known.length > 0 ? random.pick(this.#known.slice(-12)) : undefined;
	}

	/** The one that is running, an earlier one, or one that may yet come. */
	#someAttempt(id: string): number {
		const { random, checker } = this.#stage;
		const index = checker.recordOf(id)?.attempt?.index ?? 0;
		return random.pick([index, index, index, index + 1, Math.max(0, index - 1)]);
	}

	/** One more that wants a stream, perhaps one that others want too. */
	#start(id: string, attempt: number): void {
		const { random } = this.#stage;
		if (this.#tails.size >= MOST_TAILS) return;
		const others = [...this.#tails];
		const wanted = others.length > 0 && random.chance(0.4) ? random.pick(others) : { id, attempt };
		const follows = random.chance(0.5);
		this.begin(wanted.id, wanted.attempt, follows, !follows && random.chance(0.3) ? "end" : "start");
	}

	/** From its start, or what is its end by now, to where it is closed. */
	begin(id: string, attempt: number, follows: boolean, after: "start" | "end" = "start"): void {
		const tail = { id, attempt, after, follows, moved: 0 };
		this.#tails.add(tail);
		this.#goOn(tail);
	}

	#goOn(tail: Tail): void {
		if (tail.follows) this.#follow(tail);
		else this.#poll(tail);
	}

	#later(tail: Tail): void {
		const { world, random } = this.#stage;
		world.after(random.pick(LATER_MS) + (tail.moved > 20 ? 2000 : 0), () => this.#goOn(tail));
	}

	/** Its engine is gone, or has failed it: another is asked for what is behind the last frame that was seen. */
	#moveOn(tail: Tail): void {
		tail.moved += 1;
		if (hasSeen(tail)) this.#stage.note("tails that went on at another engine");
		this.#later(tail);
	}

	#poll(tail: Tail): void {
		const { random, calm } = this.#stage;
		const { id, attempt, after } = tail;
		// Frame by frame one is never there at once.
		const limit = calm ? 1000 : random.pick([1, 3, 100, 1000]);
		const request = { after, waitMs: random.pick([0, 300, 2000, 30_000]), limit };
		const isAsked = this.#stage.call(
			(backend) => backend.streams.tail(id, attempt, request),
			(heard, since) => {
				if (heard.kind === "unknown") return this.#moveOn(tail);
				if (heard.kind === "refused") return this.#end(tail, heard.code, since);
				if (!this.#hasShown(tail, heard.value, since)) this.#later(tail);
			},
		);
		if (!isAsked) this.#moveOn(tail);
	}

	/** One call for all that comes. Pages of an engine that is gone are nobody's any more. */
	#follow(tail: Tail): void {
		const { cluster, world } = this.#stage;
		const { id, attempt, after } = tail;
		const node = cluster.someNode();
		if (!node) return this.#moveOn(tail);
		const since = world.moment;
		let isOver = false;
		const following = cluster.call(node, 0, async (backend) => {
			for await (const page of backend.streams.follow(id, attempt, { after })) {
				if (isOver) return;
				this.#hasShown(tail, page, since);
			}
		});
		this.#stage.settle(following, (heard) => {
			isOver = true;
			if (heard.kind === "unknown") return this.#moveOn(tail);
			if (heard.kind === "refused") return this.#end(tail, heard.code, since);
			if (this.#tails.has(tail))
				throw new Violation(`stream ${id}/${attempt}: following it ended before it was closed`);
		});
	}

	/** True when that was the end of it. */
	#hasShown(tail: Tail, page: TailedPage, since: number): boolean {
		const { checker } = this.#stage;
		const { id, attempt } = tail;
		if (tail.after === "end") {
			tail.after = checker.streams.endOf(id, attempt, page, since);
			this.#stage.note("tails from the end");
		}
		checker.streams.checkPage(id, attempt, page, { after: tail.after }, since);
		tail.after = page.frames.at(-1)?.id ?? tail.after;
		if (page.closedAt === undefined || page.nextFrom !== undefined) return false;
		this.#tails.delete(tail);
		if (hasSeen(tail)) this.#stage.note(tail.follows ? "streams followed to the end" : "streams polled to the end");
		return true;
	}

	#end(tail: Tail, code: ErrorCode, since: number): void {
		const { id, attempt } = tail;
		this.#tails.delete(tail);
		this.#checkRefused(id, attempt, code, since);
		if (code === "attempt_not_found") this.#stage.note("tails of attempts that never came");
	}

	/** A stream is refused only where there is none, and none will be. */
	#checkRefused(id: string, attempt: number, code: ErrorCode, since: number): void {
		const { checker } = this.#stage;
		const isNone = (state: ExecutionRecord | undefined) =>
			code === "execution_not_found"
				? !state
				: code === "attempt_not_found" && state && hasEnded(state) && attempt > (state.attempt?.index ?? -1);
		if (!checker.during(id, since).some(isNone))
			throw new Violation(`reading stream ${id}/${attempt} was refused: ${code}`);
	}

	/** All of a stream page by page, or some of it. */
	#read(id: string, attempt: number, from: string | undefined): void {
		const { random, checker } = this.#stage;
		const request = { ...(from === undefined ? undefined : { from }), limit: random.pick([2, 20, 1000]) };
		this.#stage.call(
			(backend) => backend.streams.read(id, attempt, request),
			(heard, since) => {
				if (heard.kind === "refused") return this.#checkRefused(id, attempt, heard.code, since);
				if (heard.kind !== "ok") return;
				const { frames, nextFrom } = heard.value;
				checker.streams.checkPage(id, attempt, heard.value, { from }, since);
				if (frames.length > 0) this.#stage.note("streams read");
				if (nextFrom !== undefined && random.chance(0.7)) this.#read(id, attempt, nextFrom);
			},
		);
	}

	#readSummary(id: string, attempt: number): void {
		const { checker } = this.#stage;
		this.#stage.call(
			(backend) => backend.streams.summary(id, attempt),
			(heard, since) => {
				if (heard.kind === "refused") return this.#checkRefused(id, attempt, heard.code, since);
				if (heard.kind !== "ok") return;
				checker.streams.checkSummary(id, attempt, heard.value, since);
				if (heard.value.version > 0) this.#stage.note("summaries read");
			},
		);
	}

	/** What another tenant runs is not there. */
	#intrude(id: string): void {
		const { checker, random } = this.#stage;
		const owner = checker.recordOf(id)?.namespace;
		if (owner === undefined) return;
		const other = otherThan(owner as Tenant);
		const request = random.chance(0.5) ? { waitMs: 0 } : { waitMs: 300 };
		this.#stage.call(
			(backend) => asTenant(backend, other).streams.tail(id, 0, request),
			(heard) => {
				if (heard.kind === "ok" || (heard.kind === "refused" && heard.code !== "execution_not_found"))
					throw new Violation(
						`${other} asked for the stream of ${id} of ${owner}, and was told ${JSON.stringify(heard)}`,
					);
			},
		);
	}
}

const hasSeen = ({ after }: Tail): boolean => framePosition(after) !== undefined;
