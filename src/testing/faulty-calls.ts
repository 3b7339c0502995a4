import type { Backend, Calls } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";

/** Calls that are answered once; what is followed or listened to has no single answer that could be lost. */
type Answered<G> = {
	[N in keyof G & string]: G[N] extends (...args: never[]) => Promise<unknown> ? N : never;
}[keyof G & string];

/** A call of the API by its area and its name, such as `executions.create` or `leases.complete`. */
export type CallName = { [A in keyof Calls & string]: `${A}.${Answered<Calls[A]>}` }[keyof Calls & string];

/** What can happen to one call on its way. */
type Mishap = "request lost" | "reply lost" | "sent twice";

const GIVE_LEASES = new Set<string>(["leases.claim", "leases.renew", "leases.acceptGrant"] satisfies CallName[]);

type Call = () => Promise<unknown>;

/**
 * The wire between a program and the engine, which a test can disturb: a request is sent twice, or its reply is lost. In
 * process nothing of that ever happens; between machines it does, and handlers and callers have to live with it.
 */
export class FaultyCalls {
	/** The interface through this wire. */
	readonly backend: Backend;
	/** When the last lease that was given or renewed ends, as far as was heard here. */
	lastLeaseEnd = 0;
	readonly #mishaps = new Map<string, Mishap[]>();
	/** Renewals on hold, to be sent later; undefined while they pass. */
	#held: (() => void)[] | undefined;

	constructor(backend: Backend) {
		this.backend = new Proxy(backend, {
			get: (target, area: keyof Backend) => {
				const calls: unknown = target[area];
				if (typeof calls === "function") return calls.bind(target);
				return AREAS.has(area) ? this.#area(area, calls as Record<string, unknown>) : calls;
			},
		});
	}

	/** Lets something happen to the next call of that name that has nothing else in store. */
	plan(name: CallName, mishap: Mishap): void {
		const planned = this.#mishaps.get(name) ?? [];
		this.#mishaps.set(name, [...planned, mishap]);
	}

	/** Lets no renewal through, as if the workers' machines stood still. */
	holdRenewals(): void {
		this.#held ??= [];
	}

	/** Lets renewals through again, those on hold first. */
	passRenewals(): void {
		const held = this.#held ?? [];
		this.#held = undefined;
		for (const send of held) send();
	}

	#area(area: string, calls: Record<string, unknown>): unknown {
		return new Proxy(calls, {
			get: (target, name: string) => {
				const call = target[name];
				if (typeof call !== "function") return call;
				// biome-ignore lint/plugin: a call has a handful of arguments
				return (...args: unknown[]) => this.#send(`${area}.${name}`, () => Reflect.apply(call, target, args));
			},
		});
	}

	#send(name: string, call: Call): unknown {
		if (name === "leases.renew" && this.#held) {
			const released = new Promise<void>((resolve) => this.#held?.push(resolve));
			return released.then(() => this.#send(name, call));
		}
		const mishap = this.#mishaps.get(name)?.shift();
		if (mishap === "request lost") return Promise.reject(unreachable(name, "was lost on its way"));
		const answer = call();
		if (GIVE_LEASES.has(name)) void answer.then((given) => this.#heardOfLeases(given), ignore);
		if (mishap === undefined) return answer;
		if (mishap === "sent twice") return Promise.allSettled([answer, call()]).then(() => answer);
		// A refusal is a reply too, and lost like any other.
		return answer.catch(ignore).then(() => Promise.reject(unreachable(name, "was sent and its reply lost")));
	}

	#heardOfLeases(given: unknown): void {
		for (const each of [given].flat() as { expiresAt?: number; lease?: { expiresAt: number } }[])
			this.lastLeaseEnd = Math.max(this.lastLeaseEnd, each.expiresAt ?? each.lease?.expiresAt ?? 0);
	}
}

const AREAS = new Set<string>([
	"executions",
	"leases",
	"workers",
	"lanes",
	"budgets",
	"quotas",
	"waitpoints",
	"streams",
	"flows",
	"feed",
	"admin",
] satisfies (keyof Calls)[]);

const ignore = (): void => {};

/** What a client throws when it cannot know whether its request has arrived. */
const unreachable = (name: string, what: string): FlowFabricError =>
	new FlowFabricError("unreachable", { message: `the server could not be reached: ${name} ${what} by the test` });
