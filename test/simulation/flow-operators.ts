import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";
import type { KnownMember, WatchedFlow } from "./watched-flow.ts";

/** Those who look at flows and interfere with them and their members. */
export class FlowOperators {
	readonly #stage: Stage;
	readonly #known: readonly string[];

	constructor(stage: Stage, known: readonly string[]) {
		this.#stage = stage;
		this.#known = known;
	}

	operate(): void {
		const { random } = this.#stage;
		const flow = this.#some();
		if (!flow) return;
		const member = random.pick([...flow.members.values()]);
		switch (random.weighted({ cancel: 4, replay: 8, revoke: 2, resume: 4, cancelFlow: 1.5, delete: 1 })) {
			case "cancel": {
				const mode = random.pick(["graceful", "force"] as const);
				if (member) this.#say((backend) => backend.executions.cancel(member.id, { mode, graceMs: 200 }));
				return;
			}
			case "replay":
				return this.replay(flow);
			case "revoke":
				if (member) this.#say((backend) => backend.executions.revokeLease(member.id));
				return;
			case "resume":
				return this.resumeAll();
			case "cancelFlow":
				return this.cancelFlow(flow.id, random.pick(["flow_only", "cancel_pending", "cancel_all"]));
			case "delete":
				return this.delete(flow.id);
		}
	}

	#some(): WatchedFlow | undefined {
		const { random, checker } = this.#stage;
		return this.#known.length > 0 ? checker.flows.all.get(random.pick(this.#known)) : undefined;
	}

	/** Somebody has a member run again that has ended, rather one that others were skipped for. */
	replay(flow: WatchedFlow): void {
		const { random } = this.#stage;
		const ended = [...flow.members.values()].filter(({ end }) => end);
		const bad = ended.filter(({ end }) => end?.end !== "completed" && end?.end !== "skipped");
		const from = bad.length > 0 && random.chance(0.7) ? bad : ended;
		if (from.length === 0) return;
		const { id } = random.pick(from) as KnownMember;
		this.#stage.call(
			(backend) => backend.executions.replay(id),
			(heard) => this.#stage.note(heard.kind === "ok" ? "members replayed" : "replays refused or lost"),
		);
	}

	cancelFlow(id: string, policy: "flow_only" | "cancel_pending" | "cancel_all"): void {
		const { random, checker, world } = this.#stage;
		const mode = random.pick(["graceful", "force"] as const);
		const wait = random.chance(0.2);
		this.#stage.call(
			(backend) => backend.flows.cancel(id, { policy, mode, graceMs: 300 }, { wait }),
			(heard) => {
				if (heard.kind === "unknown" && random.chance(0.5)) world.after(200, () => this.cancelFlow(id, policy));
				if (heard.kind !== "ok") return;
				const { flow } = checker.flows.all.get(id) ?? {};
				if (flow && !flow.cancel && flow.outcome === "" && heard.value.status !== "already_terminal")
					throw new Violation(`${id} was told to be cancelled, and is not`);
			},
		);
	}

	delete(id: string): void {
		this.#say((backend) => backend.flows.delete(id));
	}

	resumeAll(): void {
		for (const { id, suspension } of this.#stage.checker.suspensions.waiting)
			if (suspension) this.#say((backend) => backend.waitpoints.resume(id));
	}

	read(): void {
		const { checker } = this.#stage;
		const flow = this.#some();
		if (!flow) return;
		this.#stage.call(
			(backend) => backend.flows.get(flow.id),
			(heard, since) => {
				if (heard.kind === "unknown") return;
				checker.flows.checkRead(flow.id, heard.kind === "ok" ? heard.value : undefined, since);
				this.#stage.note("flows read");
			},
		);
	}

	#say(question: Parameters<Stage["call"]>[0]): void {
		this.#stage.call(question, () => {});
	}
}
