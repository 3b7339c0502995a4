import type { SuspendReply } from "../../src/contract/replies.ts";
import type { SuspendRequest } from "../../src/contract/waitpoints.ts";
import { SUSPENSION_REASONS, type SuspensionReason } from "../../src/kernel/suspension/reasons.ts";
import type { Held } from "./lease-requests.ts";
import type { Mailbox } from "./mailbox.ts";
import { someCondition, WAITPOINTS } from "./random-conditions.ts";
import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";

const REASONS = Object.keys(SUSPENSION_REASONS) as SuspensionReason[];
const LATER_MS = [0, 0, 5, 20, 400];

/** Holders that have to wait for somebody: they suspend, open waitpoints beforehand, and say so again when they hear nothing. */
export class Suspenders {
	readonly #stage: Stage;
	readonly #mailbox: Mailbox;

	constructor(stage: Stage, mailbox: Mailbox) {
		this.#stage = stage;
		this.#mailbox = mailbox;
	}

	/** `keeps` is told when the holder need not wait, and goes on under its lease. */
	suspend(held: Held, keeps: () => void): void {
		const request = this.#someRequest(held);
		this.#sendSuspend(held, request, { first: undefined }, keeps, this.#repeats());
	}

	#someRequest({ id, fence }: Held): SuspendRequest {
		const { random } = this.#stage;
		const keys = WAITPOINTS.filter(() => random.chance(0.5));
		const hasTimeout = random.chance(0.6);
		const behaviors = ["fail", "cancel", "expire", "resume", "resume", "escalate", "escalate"] as const;
		const known = this.#mailbox.addresses.filter(({ executionId }) => executionId === id);
		return {
			fence,
			reason: random.pick(REASONS),
			condition: someCondition(random, keys, hasTimeout),
			waitpoints: keys.map((key) => {
				const made = random.chance(0.3) ? known.findLast((each) => each.key === key) : undefined;
				return made ? { key, id: made.waitpointId } : { key };
			}),
			...(hasTimeout ? { timeoutMs: random.integer(20, 3000) } : undefined),
			...(hasTimeout && random.chance(0.8) ? { timeoutBehavior: random.pick(behaviors) } : undefined),
			...(random.chance(0.2) ? { resumeDelayMs: random.integer(1, 600) } : undefined),
			...(random.chance(0.3) ? { idempotencyKey: `wait ${random.integer(1, 3)}` } : undefined),
		};
	}

	/** How often a call is made again: its answer may be lost, or late, and another engine may be asked. */
	#repeats(): number {
		const { random } = this.#stage;
		return random.chance(0.4) ? random.integer(1, 2) : 0;
	}

	#sendSuspend(
		held: Held,
		request: SuspendRequest,
		answer: { first: SuspendReply | undefined },
		keeps: () => void,
		repeats: number,
	): void {
		const { checker, random, world } = this.#stage;
		const { id, fence } = held;
		this.#stage.call(
			(backend) => backend.leases.suspend(id, request),
			(heard, since) => {
				if (heard.kind === "unknown") return;
				// Waitpoints that are said to be there are not known to whoever judges by the execution alone.
				if (heard.kind === "refused" && heard.code === "waitpoint_unknown") return;
				const command = { op: "suspend", ...request, fence, executionId: id, digest: "", uuids: [] };
				const waitpoints = (request.waitpoints ?? []).map(({ key }) => ({ key }));
				const reply = heard.kind === "ok" ? ({ ok: true } as const) : refusal(heard.code);
				checker.checkReply("suspend", { ...command, waitpoints } as { executionId: string }, reply, since);
				if (heard.kind !== "ok") return;
				this.#checkSame(id, answer.first, heard.value);
				if (!answer.first && heard.value.status === "already_satisfied") keeps();
				if (answer.first) this.#stage.note("suspends repeated");
				answer.first ??= heard.value;
				checker.suspensions.checkSuspended(id, heard.value);
				for (const { id: waitpointId, key, token } of heard.value.waitpoints)
					this.#mailbox.add({ executionId: id, waitpointId, key, token }, request.timeoutMs);
			},
		);
		if (repeats === 0) return;
		world.after(random.pick(LATER_MS), () => this.#sendSuspend(held, request, answer, keeps, repeats - 1));
	}

	/** Made again, a call gets its first answer. */
	#checkSame(id: string, first: SuspendReply | undefined, again: SuspendReply): void {
		if (!first) return;
		const [before, now] = [first, again].map(({ status, suspensionId, waitpoints }) =>
			JSON.stringify([status, suspensionId, waitpoints.map((each) => each.id)]),
		);
		if (before !== now) throw new Violation(`${id} suspended and was told ${before}; again, and was told ${now}`);
	}

	/** A waitpoint that nothing waits at yet. */
	createWaitpoint({ id, fence }: Held, repeats = this.#repeats(), key = this.#stage.random.pick(WAITPOINTS)): void {
		const { checker, random, world } = this.#stage;
		const expiresMs = random.chance(0.4) ? random.integer(50, 4000) : undefined;
		const request = { fence, key, ...(expiresMs === undefined ? undefined : { expiresMs }) };
		this.#stage.call(
			(backend) => backend.leases.createWaitpoint(id, request),
			(heard, since) => {
				if (heard.kind === "unknown") return;
				const command = { op: "createWaitpoint", ...request, executionId: id, uuid: "" };
				const reply = heard.kind === "ok" ? ({ ok: true } as const) : refusal(heard.code);
				checker.checkReply("createWaitpoint", command, reply, since);
				if (heard.kind !== "ok") return;
				const { id: waitpointId, token, created } = heard.value;
				if (!checker.suspensions.of(id)?.isGone && checker.suspensions.waitpoint(waitpointId)?.key !== key)
					throw new Violation(`${id} was given ${waitpointId} as ${key}, which it is not`);
				this.#stage.note(created ? "waitpoints made early" : "waitpoints found again");
				this.#mailbox.add({ executionId: id, waitpointId, key, token });
			},
		);
		if (repeats > 0) world.after(random.pick(LATER_MS), () => this.createWaitpoint({ id, fence }, repeats - 1, key));
	}
}

const refusal = <C>(code: C) => ({ ok: false, code, details: {} }) as const;
