import type { ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { WORKER_PREFIX, type WorkerRecord } from "../../src/kernel/records/worker.ts";
import type { Unit } from "../../src/store/port.ts";
import { Violation } from "./violation.ts";
import type { World } from "./world.ts";

/** One entry of a registry, for as long as it stood. */
interface Stay {
	worker: WorkerRecord;
	/** The moment it was replaced or removed; not set while it stands. */
	until?: number;
}

/** Follows every tenant's registry from commits, and holds against it what is told and done on account of workers. */
export class WorkerWatch {
	readonly #world: World;
	/** By key of the registry's record, oldest first. */
	readonly #stays = new Map<string, Stay[]>();
	readonly #offered = new Map<string, Set<string>>();
	/** Namespaces of which some engine could not read who is there, and may have let claims find out. */
	readonly unread = new Set<string>();

	constructor(world: World) {
		this.#world = world;
	}

	observe(unit: Unit): void {
		for (const key of unit.removed) if (key.startsWith(WORKER_PREFIX)) this.#end(key);
		for (const { key, doc } of unit.put) {
			if (!key.startsWith(WORKER_PREFIX)) continue;
			this.#end(key);
			const stay = { worker: kernel.decode(key, doc) as WorkerRecord };
			const known = this.#stays.get(key);
			if (known) known.push(stay);
			else this.#stays.set(key, [stay]);
		}
	}

	/** Somebody says that it offers this, by registering or by claiming. */
	offers(namespace: string, capabilities: readonly string[]): void {
		const known = this.#offered.get(namespace) ?? new Set();
		for (const token of capabilities) known.add(token);
		this.#offered.set(namespace, known);
	}

	/**
	 * Work is released only because its own tenant has, or had, somebody for each thing it needs: an engine may stand still
	 * for as long as it likes between its look at the registry and the release.
	 */
	check({ type, executionId }: ExecutionEvent, { namespace, requiredCapabilities }: ExecutionRecord): void {
		if (type !== "unblocked" || this.unread.has(namespace)) return;
		for (const token of requiredCapabilities) {
			if (!this.#offered.get(namespace)?.has(token))
				throw new Violation(`${executionId} was released, and nobody in ${namespace} ever offered ${token}`);
		}
	}

	/** A tenant was told how many workers it has. */
	checkCount(namespace: string, live: number, since: number): void {
		const most = new Set(this.#during(namespace, since).map(({ worker }) => worker.instanceId)).size;
		if (live > most) throw new Violation(`${namespace} was told of ${live} workers and had ${most}`);
	}

	/** A tenant was told who its workers are. */
	checkListed(namespace: string, listed: readonly { instanceId: string; namespace: string }[], since: number): void {
		const there = this.#during(namespace, since);
		for (const told of listed) {
			if (told.namespace !== namespace || !there.some(({ worker }) => worker.instanceId === told.instanceId))
				throw new Violation(`${namespace} was told of worker ${told.instanceId} of ${told.namespace}`);
		}
	}

	#end(key: string): void {
		const last = this.#stays.get(key)?.at(-1);
		if (last) last.until ??= this.#world.moment;
	}

	#of(namespace: string): Stay[] {
		return [...this.#stays.values()].flat().filter(({ worker }) => worker.namespace === namespace);
	}

	/** What stood in a registry at some moment since. */
	#during(namespace: string, since: number): Stay[] {
		return this.#of(namespace).filter(({ until }) => until === undefined || until >= since);
	}
}
