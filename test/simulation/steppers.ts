import { partsOf } from "../../src/kernel/records/execution.ts";
import { stepKey } from "../../src/kernel/records/step.ts";
import type { Held } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";

const NAMES = ["fetch", "draft"];

/** Handlers that record what their steps came to, and look up what is recorded already. */
export class Steppers {
	readonly #stage: Stage;

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	/** A step comes to something, which is told once or twice; as likely as not it was recorded before. */
	record({ id, fence }: Held): void {
		const { random, world } = this.#stage;
		const outcome = random.chance(0.25) ? { error: { reason: "no" } } : { result: this.#stage.count() };
		const request = {
			fence,
			name: random.pick(NAMES),
			index: random.integer(0, 1),
			startedAt: Math.floor(world.time),
			...outcome,
		};
		const command = { op: "recordStep", ...request, result: null };
		const send = () =>
			this.#stage.ask("recordStep", id, command, async (backend) => {
				const { number } = await backend.leases.recordStep(id, request);
				this.#stage.note("steps recorded");
				return { number };
			});
		send();
		if (random.chance(0.4)) world.after(random.pick([0, 5, 400]), send);
	}

	/** What a handler gets that runs again. */
	recall(id: string): void {
		const { checker } = this.#stage;
		this.#stage.call(
			(backend) => backend.executions.steps(id, { values: true }),
			(heard, since) => {
				const parts = checker.suspensions.of(id);
				if (heard.kind !== "ok" || !parts || parts.isGone) return;
				const generations = checker.during(id, since).map((state) => (state ? partsOf(state).generation : 0));
				for (const { name, index, result, error } of heard.value.steps) {
					const known = generations.map((generation) => parts.steps.get(stepKey(id, generation, name, index)));
					// One that failed may have been recorded anew since.
					const isTrue = known.some((step) => step && (error ? true : Number(step.result?.text) === result));
					if (!isTrue) throw new Violation(`${id} recalls ${name} ${index} as ${result}, which it is not`);
					this.#stage.note("steps recalled");
				}
			},
		);
	}
}
