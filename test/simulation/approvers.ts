import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Mailbox } from "./mailbox.ts";
import { SIGNALS, SOURCES, WAITPOINTS } from "./random-conditions.ts";
import type { Stage } from "./stage.ts";
import { asTenant, otherThan, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** Operators who look after what waits: they answer without a token, let it go on, hand out tokens, and rotate keys. */
export class Approvers {
	readonly #stage: Stage;
	readonly #mailbox: Mailbox;
	readonly #known: readonly string[];

	/** `known` are the executions they may have heard of. */
	constructor(stage: Stage, mailbox: Mailbox, known: readonly string[]) {
		this.#stage = stage;
		this.#mailbox = mailbox;
		this.#known = known;
		stage.checker.suspensions.onEndedWaiting = (id) => this.#reconsider(id);
	}

	act(): void {
		const { random } = this.#stage;
		const id = this.#someone();
		if (id === undefined) return;
		switch (random.weighted({ approve: 5, resume: 3, cancel: 2, token: 4, inbox: 1, rotate: 1 })) {
			case "approve":
				return this.#approve(id);
			case "resume":
				return this.#resume(id);
			case "cancel":
				return this.#cancel(id);
			case "token":
				return this.#readToken(id);
			case "inbox":
				return this.#readInbox(this.#stage.someTenant());
			case "rotate":
				this.#stage.call(
					(backend) => backend.engine.keyring.rotate({}),
					(heard) => {
						if (heard.kind === "ok") this.#stage.note("keys rotated");
					},
				);
				return;
		}
	}

	#cancel(id: string): void {
		const how = { mode: "force", graceMs: 0 } as const;
		const command = { op: "cancel", actor: "operator", ...how };
		this.#stage.ask("cancel", id, command, (backend) => backend.executions.cancel(id, how));
	}

	/** What ended while it waited is often begun again, with what it had, or from nothing. */
	#reconsider(id: string): void {
		const { random, world } = this.#stage;
		if (this.#stage.calm || random.chance(0.4)) return;
		const keepSteps = random.chance(0.6);
		const command = { op: "replay", actor: "operator", keepSteps };
		world.after(random.pick([0, 50, 400]), () =>
			this.#stage.ask("replay", id, command, async (backend) => {
				const reply = await backend.executions.replay(id, { keepSteps });
				if (keepSteps) this.#stage.note("waits begun again with what they had");
				return reply;
			}),
		);
	}

	/** In calm: whatever of a tenant's waits, and does not wait for a time, goes on; first by answers, at last by order. */
	release(tenant: Tenant, isLast: boolean): void {
		const { checker, random } = this.#stage;
		for (const { id, namespace, suspension } of checker.suspensions.waiting) {
			if (namespace !== tenant) continue;
			if (isLast) this.#resume(id);
			else if (suspension?.budget !== undefined) continue;
			else if (random.chance(0.5)) this.#approve(id);
			else if (suspension?.timeoutAt === undefined || suspension.isEscalated) this.#resume(id);
		}
	}

	#someone(): string | undefined {
		const { random, checker } = this.#stage;
		const { waiting } = checker.suspensions;
		if (random.chance(0.8) && waiting.length > 0) return random.pick(waiting).id;
		return this.#known.length > 0 ? random.pick(this.#known) : undefined;
	}

	#approve(id: string): void {
		const { random, checker } = this.#stage;
		const owner = checker.recordOf(id)?.namespace as Tenant;
		const caller = random.chance(0.05) ? otherThan(owner) : owner;
		const { budget } = checker.recordOf(id)?.suspension ?? {};
		const name = budget === undefined ? random.pick(SIGNALS) : random.pick(["approve", "approve", "reject"]);
		const waitpoint = random.chance(0.5) && budget === undefined ? { waitpoint: random.pick(WAITPOINTS) } : undefined;
		const dimensions = { tokens: { hard: random.integer(60, 300) } };
		const payload = budget !== undefined && random.chance(0.5) ? { payload: { dimensions } } : undefined;
		const request = { name, ...waitpoint, ...payload, identity: random.pick(SOURCES) };
		this.#stage.call(
			(backend) => asTenant(backend, caller).waitpoints.approve(id, request),
			(heard, since) => {
				if (heard.kind === "ok" && caller !== owner) throw new Violation(`${caller} approved ${id} of ${owner}`);
				if (heard.kind === "ok") {
					checker.suspensions.checkSignalled(id, undefined, "", heard.value);
					this.#stage.note("approved");
				}
				if (heard.kind !== "refused" || heard.code !== "execution_not_suspended") return;
				const waits = (state: ExecutionRecord | undefined) =>
					(checker.suspensions.of(id)?.suspensions.get(state?.suspension?.number ?? 0)?.waitpoints.length ?? 0) > 0;
				if (checker.during(id, since).every(waits)) throw new Violation(`${id} waits, and to approve it was refused`);
			},
		);
	}

	#resume(id: string): void {
		const { checker } = this.#stage;
		this.#stage.call(
			(backend) => backend.waitpoints.resume(id),
			(heard, since) => {
				if (heard.kind === "ok" && !checker.suspensions.isOver(heard.value.suspensionId))
					throw new Violation(`${id} was told to go on after ${heard.value.suspensionId}, and did not`);
				if (heard.kind !== "refused" || heard.code !== "execution_not_suspended") return;
				if (checker.during(id, since).every((state) => state?.suspension))
					throw new Violation(`${id} waits, and to resume it was refused`);
			},
		);
	}

	/** Somebody who lost a token, or never got it, is given it. */
	#readToken(id: string): void {
		const { random, checker } = this.#stage;
		this.#stage.call(
			(backend) => backend.waitpoints.list(id, { all: true }),
			(heard) => {
				if (heard.kind !== "ok" || heard.value.waitpoints.length === 0) return;
				const { id: waitpointId, key } = random.pick(heard.value.waitpoints);
				if (!checker.suspensions.of(id)?.isGone && checker.suspensions.waitpoint(waitpointId)?.executionId !== id)
					throw new Violation(`${id} was listed with ${waitpointId}, which is not its own`);
				this.#stage.call(
					(backend) => backend.waitpoints.token(id, waitpointId),
					(given) => {
						if (given.kind !== "ok") return;
						this.#mailbox.add({ executionId: id, waitpointId, key, token: given.value.token });
					},
				);
			},
		);
	}

	#readInbox(tenant: Tenant): void {
		const { checker } = this.#stage;
		this.#stage.call(
			(backend) => asTenant(backend, tenant).waitpoints.inbox(),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { executionId, namespace } of heard.value.waitpoints) {
					const hasWaited = checker.during(executionId, since).some((state) => state?.suspension);
					if (namespace !== tenant || !hasWaited)
						throw new Violation(`${tenant} was told that ${executionId} of ${namespace} waits`);
				}
			},
		);
	}
}
