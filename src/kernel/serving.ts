import { canServe, describeLack, offersAll } from "./matching.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import type { WorkerRecord } from "./records/worker.ts";

/** Whether anybody who is there would take what waits. */

type Work = Pick<ExecutionRecord, "lane" | "kind" | "requiredCapabilities">;
type LiveWorker = Pick<WorkerRecord, "lanes" | "kinds" | "capabilities">;

/** What the workers that live in its namespace mean to work. There may be many: each is looked at once and let go. */
export class WorkersFor {
	readonly #work: Work;
	/** Of what it requires, that which somebody offers. */
	readonly #offered = new Set<string>();
	live = 0;
	able = 0;
	#isServed: boolean;

	constructor(work: Work) {
		this.#work = work;
		this.#isServed = work.requiredCapabilities.length === 0;
	}

	see(worker: LiveWorker): void {
		const { lane, requiredCapabilities } = this.#work;
		this.live += 1;
		if (worker.lanes.includes(lane) && canServe(worker, this.#work)) this.able += 1;
		this.#isServed ||= offersAll(worker.capabilities, requiredCapabilities);
		for (const token of requiredCapabilities) if (worker.capabilities.includes(token)) this.#offered.add(token);
	}

	/** What nobody offers, or all that is required when nobody offers it together; undefined when somebody does. */
	get missing(): string[] | undefined {
		if (this.#isServed) return undefined;
		const { requiredCapabilities } = this.#work;
		const missing = requiredCapabilities.filter((token) => !this.#offered.has(token));
		return missing.length > 0 ? missing : [...requiredCapabilities];
	}

	/** Why nobody takes it, for a person; undefined when somebody does. */
	get lack(): string | undefined {
		const { lane, kind, requiredCapabilities } = this.#work;
		if (!this.#isServed) return describeLack(requiredCapabilities, [{ capabilities: [...this.#offered] }]);
		return this.able === 0 ? `no live worker takes kind ${kind} on lane ${lane}` : undefined;
	}
}
