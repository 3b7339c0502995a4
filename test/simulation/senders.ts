import type { SignalReply } from "../../src/contract/replies.ts";
import type { SignalRequest } from "../../src/contract/waitpoints.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import { type ExecutionRecord, partsOf } from "../../src/kernel/records/execution.ts";
import type { Address, Mailbox } from "./mailbox.ts";
import { SIGNALS, SOURCES } from "./random-conditions.ts";
import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";

/** A signal that somebody sends, once or more often. */
interface Letter {
	executionId: string;
	request: SignalRequest;
	/** It comes by the URL of a callback. */
	isCallback: boolean;
}

const LATER_MS = [0, 0, 5, 50, 400, 2000];
const MOST_LETTERS = 20;

/** Those who send signals: early, late, again, together, and with tokens that are not meant for where they send them. */
export class Senders {
	readonly #stage: Stage;
	readonly #mailbox: Mailbox;
	readonly #letters: Letter[] = [];
	/** Signals that were accepted, and of which executions. */
	readonly #accepted = new Map<string, string>();

	constructor(stage: Stage, mailbox: Mailbox) {
		this.#stage = stage;
		this.#mailbox = mailbox;
		mailbox.onNew = (address, timeoutMs) => this.#expect(address, timeoutMs);
	}

	act(): void {
		const { random } = this.#stage;
		switch (random.weighted({ write: 14, again: 3, swapped: 2 })) {
			case "write":
				return this.#write();
			case "again":
				return this.#letters.length > 0 ? this.#send(random.pick(this.#letters)) : undefined;
			case "swapped":
				return this.#sendSwapped();
		}
	}

	/** Nothing that was accepted may have gone astray. */
	checkKept(): void {
		const { suspensions } = this.#stage.checker;
		for (const [signalId, executionId] of this.#accepted) {
			const parts = suspensions.of(executionId);
			if (!parts || parts.isGone) continue;
			if (![...parts.signals.values()].some(({ id }) => id === signalId))
				throw new Violation(`${signalId} to ${executionId} was accepted, and is lost`);
		}
	}

	/** Whoever is given a token writes sooner or later, some just when it is too late. */
	#expect(address: Address, timeoutMs: number | undefined): void {
		const { random, world } = this.#stage;
		for (let n = random.pick([0, 1, 1, 2]); n > 0; n--) {
			const isLast = timeoutMs !== undefined && random.chance(0.3);
			const later = isLast ? Math.max(0, timeoutMs + random.integer(-30, 30)) : random.integer(0, 1500);
			world.after(later, () => this.#write(address));
		}
	}

	#write(address = this.#someAddress()): void {
		const { random, world } = this.#stage;
		if (!address) return;
		const letter = this.#letterTo(address);
		this.#letters.push(letter);
		if (this.#letters.length > MOST_LETTERS) this.#letters.shift();
		this.#send(letter);
		// The answer may be lost, or late; or another engine is asked at the same moment.
		if (random.chance(0.4)) world.after(random.pick(LATER_MS), () => this.#send(letter));
		if (random.chance(0.2)) this.#send(this.#letterTo(address));
	}

	/** As a rule somewhere that is still open. */
	#someAddress(): Address | undefined {
		const { random, checker } = this.#stage;
		const { addresses } = this.#mailbox;
		const open = addresses.filter(
			({ executionId, waitpointId }) =>
				checker.suspensions.waitpoint(waitpointId)?.closedAt === 0 &&
				checker.recordOf(executionId)?.lifecyclePhase !== "terminal",
		);
		const from = random.chance(0.8) && open.length > 0 ? open : addresses;
		return from.length > 0 ? random.pick(from) : undefined;
	}

	#letterTo({ executionId, waitpointId, token }: Address): Letter {
		const { random } = this.#stage;
		const source = { type: "person", identity: random.pick(SOURCES) };
		const isCallback = random.chance(0.15);
		return {
			executionId,
			isCallback,
			request: {
				waitpointId,
				token,
				name: random.pick(SIGNALS),
				...(random.chance(0.7) && !isCallback ? { source } : undefined),
				...(random.chance(0.6) ? { idempotencyKey: `i${this.#stage.count()}` } : undefined),
			},
		};
	}

	/** A token of another waitpoint; best one that was there before under the same key. */
	#sendSwapped(): void {
		const { random } = this.#stage;
		const { addresses } = this.#mailbox;
		if (addresses.length < 2) return;
		const to = this.#someAddress() ?? random.pick(addresses);
		const others = addresses.filter(({ waitpointId }) => waitpointId !== to.waitpointId);
		const earlier = others.filter(({ executionId, key }) => executionId === to.executionId && key === to.key);
		const from = earlier.length > 0 ? earlier : others;
		if (from.length > 0) this.#send(this.#letterTo({ ...to, token: random.pick(from).token }));
	}

	#send(letter: Letter): void {
		const { executionId, request } = letter;
		const { waitpointId, token, idempotencyKey = "" } = request;
		const isGenuine = this.#mailbox.ownerOf(token) === waitpointId;
		this.#stage.call(
			(backend) => deliver(backend, letter),
			(heard, since) => {
				if (heard.kind === "unknown") return;
				if (heard.kind === "refused") return this.#checkRefused(letter, isGenuine, heard.code, since);
				if (!isGenuine) throw new Violation(`a token of ${this.#mailbox.ownerOf(token)} opened ${waitpointId}`);
				this.#stage.checker.suspensions.checkSignalled(executionId, waitpointId, idempotencyKey, heard.value);
				this.#accepted.set(heard.value.signalId, executionId);
				if (heard.value.status === "duplicate") this.#stage.note("signals repeated");
			},
		);
	}

	#checkRefused({ executionId, request }: Letter, isGenuine: boolean, code: ErrorCode, since: number): void {
		const { checker, note } = this.#stage;
		const { waitpointId } = request;
		const states = checker.during(executionId, since);
		const isGone = states.some((state) => !state || state.removing);
		const seen = (what: string) => note.call(this.#stage, what);
		if (!isGenuine) {
			if (code !== "invalid_token") throw new Violation(`a token of another waitpoint was told ${code}`);
			return seen("tokens refused");
		}
		if (isGone) return;
		const waitpoint = checker.suspensions.waitpoint(waitpointId);
		const isPast = (waitpoint?.expiresAt ?? 0) > 0 && (waitpoint?.expiresAt ?? 0) <= this.#stage.latestTime;
		const isOver = (state: ExecutionRecord | undefined) =>
			state?.lifecyclePhase === "terminal" || (state && partsOf(state).generation !== waitpoint?.generation);
		const isFull = (state: ExecutionRecord | undefined) => {
			const { signals, signalsBefore } = partsOf(state as ExecutionRecord);
			return signals - signalsBefore >= (state?.policy.maxSignals ?? Number.POSITIVE_INFINITY);
		};
		const isTrue =
			(code === "waitpoint_closed" && ((waitpoint?.closedAt ?? 0) > 0 || isPast || states.some(isOver))) ||
			(code === "token_expired" && (isPast || checker.suspensions.isKidOver(request.token, this.#stage.latestTime))) ||
			(code === "signal_limit_exceeded" && states.some(isFull));
		if (!isTrue) throw new Violation(`a signal to ${waitpointId} was told ${code}, and nothing there says so`);
		seen(`signals refused: ${code}`);
	}
}

function deliver(backend: LocalBackend, { executionId, request, isCallback }: Letter): Promise<SignalReply> {
	const { waitpointId, token, name, idempotencyKey } = request;
	if (!isCallback) return backend.waitpoints.signal(executionId, request);
	const key = idempotencyKey === undefined ? undefined : { idempotencyKey };
	return backend.waitpoints.callback(waitpointId, { token, bytes: new Uint8Array(), name, ...key });
}
