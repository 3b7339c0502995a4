import type { Stage } from "./stage.ts";
import { asTenant, otherThan, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** Those who look at work and interfere with it. */
export class Operators {
	readonly #stage: Stage;
	readonly #known: readonly string[];

	/** `known` are the executions they may have heard of. */
	constructor(stage: Stage, known: readonly string[]) {
		this.#stage = stage;
		this.#known = known;
	}

	operate(): void {
		const stage = this.#stage;
		const { random } = stage;
		if (this.#known.length === 0) return;
		const id = random.pick(this.#known);
		const op = random.weighted({
			cancel: 3,
			revokeLease: 2,
			replay: 3,
			delete: 1,
			changePriority: 2,
			setTags: 2,
			intrude: 1,
		});
		const command = { op, executionId: id, actor: "operator" };
		switch (op) {
			case "cancel": {
				const mode = random.pick(["graceful", "force"] as const);
				const graceMs = random.integer(0, 500);
				return stage.ask("cancel", id, { ...command, mode, graceMs }, (backend) =>
					backend.executions.cancel(id, { mode, graceMs }),
				);
			}
			case "revokeLease":
				return stage.revoke(id);
			case "replay": {
				const keepSteps = random.chance(0.5);
				return stage.ask("replay", id, { ...command, keepSteps }, (backend) =>
					backend.executions.replay(id, { keepSteps }),
				);
			}
			case "delete":
				return stage.ask("delete", id, command, (backend) => backend.executions.delete(id));
			case "changePriority": {
				const priority = random.integer(0, 3);
				return stage.ask("changePriority", id, { ...command, priority }, (backend) =>
					backend.executions.changePriority(id, { priority }),
				);
			}
			case "setTags": {
				const set = { n: String(random.integer(0, 3)) };
				return stage.ask("setTags", id, { ...command, set, remove: [] }, (backend) =>
					backend.executions.setTags(id, { set }),
				);
			}
			case "intrude": {
				const other = { actor: "intruder", namespace: otherThan(stage.checker.recordOf(id)?.namespace ?? "") };
				return stage.ask("cancel", id, { ...command, ...other, mode: "force", graceMs: 0 }, (backend) =>
					backend.as(other).executions.cancel(id, { mode: "force" }),
				);
			}
		}
	}

	/** Somebody looks at all of a tenant's work, or at its workers, or asks why something does not run. */
	look(): void {
		const stage = this.#stage;
		const { random, checker } = stage;
		const tenant = stage.someTenant();
		switch (random.weighted({ list: 2, workers: 2, explain: 3 })) {
			case "list":
				stage.call(
					(backend) => asTenant(backend, tenant).executions.list({ limit: 1000 }),
					(heard, since) => {
						if (heard.kind === "ok") checker.checkListed(tenant, heard.value.executions, since);
					},
				);
				return;
			case "workers":
				stage.call(
					(backend) => asTenant(backend, tenant).workers.list(),
					(heard, since) => {
						if (heard.kind === "ok") checker.workers.checkListed(tenant, heard.value.workers, since);
					},
				);
				return;
			case "explain":
				return this.#explain(tenant);
		}
	}

	#explain(tenant: Tenant): void {
		const { random, checker } = this.#stage;
		if (this.#known.length === 0) return;
		const id = random.pick(this.#known);
		const owner = checker.recordOf(id)?.namespace;
		this.#stage.call(
			(backend) => asTenant(backend, tenant).executions.explain(id),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				if (owner !== undefined && owner !== tenant) throw new Violation(`${tenant} had ${id} of ${owner} explained`);
				const { workers } = heard.value;
				if (workers) checker.workers.checkCount(tenant, workers.live, since);
			},
		);
	}

	read(): void {
		const { random, checker } = this.#stage;
		if (this.#known.length === 0) return;
		const id = random.pick(this.#known);
		this.#stage.call(
			(backend) => backend.executions.get(id),
			(heard, since) => {
				if (heard.kind === "ok") checker.checkRead(id, heard.value, since);
				else if (heard.kind === "refused") checker.checkRead(id, undefined, since);
			},
		);
	}
}
