import type { Random } from "../../simulation/random.ts";
import type { Samples } from "./random-value.ts";

interface Held {
	id: string;
	fence: object;
}

interface Waitpoint {
	executionId: string;
	id: string;
	token: string;
}

export interface About {
	held: Held | undefined;
	waitpoint: Waitpoint;
}

const NO_WAITPOINT: Waitpoint = { executionId: "ex_1", id: "wp_1", token: "k1.x" };

/** Calls about work that waits for somebody; the others are mostly refused for such. */
const ABOUT_WAITING = /^\/v1\/executions\/\{id\}\/(signals|resume|approve|waitpoints\/)/;

const LANES = ["default", "other", "third", "fourth"];

/** What the answers to one kind of attackers have told them: ids that exist, leases they hold, tokens of waitpoints. */
export class Learned {
	readonly #ids = new Map<string, string[]>();
	readonly #held: Held[] = [];
	readonly #waitpoints: Waitpoint[] = [];
	readonly #namespaces: readonly string[];

	/** The namespaces that they name in what they ask for. */
	constructor(namespaces: readonly string[]) {
		this.#namespaces = namespaces;
	}

	/** Takes in what a route of an area, such as `executions`, has answered to a request for a path. */
	learn(area: string, path: string, text: string): void {
		let said: Record<string, unknown> | null;
		try {
			said = JSON.parse(text) as Record<string, unknown> | null;
		} catch {
			// The bytes of an input are whatever was sent, also under a type that promises more.
			return;
		}
		if (typeof said !== "object" || said === null) return;
		for (const one of [said, ...listIn(said[area]), ...listIn(said.items)]) {
			if (typeof one.id === "string") keep(this.#idsOf(area), one.id);
		}
		const executionId = /^\/v1\/executions\/([^/?]+)/.exec(path)?.[1] ?? "";
		for (const { id, token } of [said, ...listIn(said.waitpoints)])
			if (typeof id === "string" && typeof token === "string") keep(this.#waitpoints, { executionId, id, token });
		for (const { id, lease } of listIn(said.executions)) {
			const { id: leaseId, epoch } = (lease ?? {}) as { id?: string; epoch?: number };
			if (typeof id === "string" && leaseId) keep(this.#held, { id, fence: { leaseId, epoch } });
		}
		const { grantId } = (said.grant ?? {}) as { grantId?: string };
		if (grantId) keep(this.#idsOf("grants"), grantId);
	}

	/** An id that was told, if any was; often one of the last, since what is new can still be changed. */
	id(area: string, random: Random): string | undefined {
		const ids = this.#idsOf(area);
		const some = random.chance(0.3) ? ids.slice(-2) : ids;
		return some.length > 0 ? random.pick(some) : undefined;
	}

	/** What a call is about that needs more than an id. */
	about(path: string, random: Random): About {
		const waitpoint = this.#waitpoints.length > 0 ? random.pick(this.#waitpoints.slice(-10)) : NO_WAITPOINT;
		const held = this.#held.length > 0 ? random.pick(this.#held) : undefined;
		const isWaiting = ABOUT_WAITING.test(path) && waitpoint !== NO_WAITPOINT;
		return { held: isWaiting ? { id: waitpoint.executionId, fence: held?.fence ?? {} } : held, waitpoint };
	}

	/** Values that fit, by the name of their field. */
	samples({ held, waitpoint }: About): Samples {
		const id = (area: string) => (random: Random) => this.id(area, random) ?? "b";
		return {
			condition: (random) =>
				random.pick([
					{ signal: "go" },
					{ anySignal: true, waitpoint: "w" },
					{ count: { n: 2, distinctBy: "source" } },
					{ anyOf: [{ allOf: [{ signal: "go" }, { signal: "stop" }] }, { operatorOnly: true }] },
				]),
			waitpoints: () => [{ key: "w" }],
			frames: (random) => Array.from({ length: random.integer(1, 5) }, (_, n) => ({ text: `frame ${n}` })),
			leases: () => [held ? { executionId: held.id, ...held.fence } : { executionId: "ex_1", leaseId: "l", epoch: 1 }],
			waitpointId: () => waitpoint.id,
			token: () => waitpoint.token,
			kind: (random) => random.pick(["a", "b"]),
			lane: (random) => random.pick(LANES),
			lanes: () => LANES,
			kinds: () => ["a", "b"],
			namespace: (random) => random.pick(this.#namespaces),
			budgets: (random) => (random.chance(0.2) ? [id("budgets")(random)] : []),
			quotas: (random) => (random.chance(0.2) ? [id("quotas")(random)] : []),
			budget: id("budgets"),
			flowId: id("flows"),
			requiredCapabilities: () => [],
			workerId: () => "w",
			instanceId: (random) => `i${random.integer(1, 3)}`,
			waitMs: (random) => random.pick([0, 0, 1, 50]),
			timeoutMs: (random) => random.pick([0, 1, 50]),
			delayMs: (random) => random.integer(0, 1000),
			delayUntil: () => Date.now() + 500,
			createdAfter: () => 0,
			executionId: (random) => held?.id ?? this.id("executions", random) ?? "ex_1",
			fence: () => held?.fence ?? { leaseId: `le_${"0".repeat(32)}_0`, epoch: 1 },
			inputBase64: () => "AAH/",
			payloadBase64: () => "AAH/",
			after: (random) => random.pick(["start", "end", "0-0", "3-1"]),
			// Ids of frames, or keys of nodes.
			from: (random) => random.pick(["0-0", "a", "m1"]),
			to: (random) => random.pick(["9-0", "b", "c", "m2"]),
			nodes: () => [
				{ key: "a", kind: "a" },
				{ key: "b", kind: "b" },
				{ key: "c", kind: "a" },
			],
			sealed: (random) => random.chance(0.3),
			edges: () => [{ from: "a", to: "b" }],
			groups: () => [{ node: "b", policy: "any_of" }],
			node: () => "b",
			key: (random) => random.pick(["w", "c", "m1", "m2"]),
			name: (random) => random.pick(["go", "stop"]),
			id: (random) => `b${random.integer(1, 20)}`,
			filter: (random) => ({ kind: "a", namespace: random.pick(this.#namespaces) }),
			leaseMs: () => 5000,
			resultBase64: () => "AAH/",
			contentType: (random) => random.pick(["application/json", "text/plain", "application/octet-stream"]),
			traceparent: () => `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
			tag: () => "team:a",
			tags: () => ({ team: "a" }),
		};
	}

	#idsOf(area: string): string[] {
		const ids = this.#ids.get(area) ?? [];
		this.#ids.set(area, ids);
		return ids;
	}
}

const listIn = (value: unknown): Record<string, unknown>[] =>
	Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];

/** A bounded memory: the latest hundred. */
function keep<T>(list: T[], value: T): void {
	list.push(value);
	if (list.length > 100) list.shift();
}
