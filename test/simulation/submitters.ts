import type { CreateRequest } from "../../src/contract/executions.ts";
import type { Stage } from "./stage.ts";
import { asTenant, BUDGETS, CAPABILITIES, KINDS, LANES, QUOTAS, RARE_CAPABILITY } from "./tenants.ts";

/** Those who submit work, singly and in batches. */
export class Submitters {
	readonly #stage: Stage;
	/** Executions somebody was told of. */
	readonly known: string[] = [];
	readonly acknowledged = new Set<string>();

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	create(): void {
		if (this.#stage.random.chance(0.3)) return this.#createMany();
		const tenant = this.#stage.someTenant();
		const request = this.#request();
		this.#stage.call(
			(backend) => asTenant(backend, tenant).executions.create(request),
			(heard, since) => {
				if (heard.kind === "ok") this.#created(heard.value.id, since);
			},
		);
	}

	#createMany(): void {
		const tenant = this.#stage.someTenant();
		const requests = Array.from({ length: this.#stage.random.integer(2, 6) }, () => this.#request());
		this.#stage.call(
			(backend) => asTenant(backend, tenant).executions.createMany(requests),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { id } of heard.value) if (id !== undefined) this.#created(id, since);
			},
		);
	}

	#created(id: string, since: number): void {
		this.#stage.checker.checkCreated(id, since);
		this.acknowledged.add(id);
		this.known.push(id);
	}

	#request(): CreateRequest {
		const { random } = this.#stage;
		const keyed = random.chance(0.3);
		return {
			kind: random.pick(KINDS),
			lane: random.pick(LANES),
			...(random.chance(0.3) ? { fairnessKey: random.pick(["x", "y", "z"]) } : undefined),
			...(random.chance(0.3) ? { requiredCapabilities: this.#needs() } : undefined),
			...(keyed ? { idempotencyKey: `key-${random.integer(1, 3)}` } : { priority: random.integer(0, 3) }),
			...(!keyed && random.chance(0.2) ? { delayMs: random.integer(1, 800) } : undefined),
			...(random.chance(0.4) ? this.#guards() : undefined),
			policy: {
				...(keyed ? { dedupWindowMs: 4000 } : undefined),
				...(random.chance(0.4) || keyed ? { retentionMs: 1500 } : undefined),
				...(random.chance(0.1) ? { maxSignals: 2 } : undefined),
				...(random.chance(0.2) ? { stream: { maxFrames: random.pick([1, 20, 70]) } } : undefined),
				...(random.chance(0.1) ? { suspension: { defaultTimeoutMs: 700, timeoutBehavior: "escalate" } } : undefined),
				...(keyed
					? undefined
					: {
							retry: { maxRetries: 2, backoff: { type: "fixed" as const, delayMs: random.integer(0, 300) } },
							maxReclaims: random.pick([0, 1, 100]),
							...(random.chance(0.2)
								? { timeouts: { attemptMs: random.integer(50, 800), queueMs: 4000, deadlineMs: 9000 } }
								: undefined),
						}),
			},
		};
	}

	/** What must admit it; some of it wants to be sure of what it will spend. */
	#guards(): Pick<CreateRequest, "budgets" | "quotas" | "reserve"> {
		const { random } = this.#stage;
		const quotas = QUOTAS.filter(() => random.chance(0.5));
		const budgets = BUDGETS.filter(() => random.chance(0.35));
		const [promised] = random.chance(0.5) ? budgets : [];
		return {
			...(quotas.length > 0 ? { quotas } : undefined),
			...(budgets.length > 0 ? { budgets } : undefined),
			...(promised === undefined ? undefined : { reserve: { [promised]: { tokens: random.integer(1, 40) } } }),
		};
	}

	#needs(): string[] {
		const { random } = this.#stage;
		if (random.chance(0.2)) return CAPABILITIES;
		return [random.chance(0.3) ? RARE_CAPABILITY : random.pick(CAPABILITIES)];
	}
}
