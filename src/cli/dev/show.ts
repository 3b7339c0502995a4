import type { ExecutionEvent } from "../../kernel/events.ts";
import { oneLine } from "../format/text.ts";
import type { Terminal } from "../terminal.ts";
import type { DemoWatcher } from "./demo-worker.ts";
import type { Sample } from "./samples.ts";

/** What `dev` tells while sample work runs, and afterwards about everything else it runs. */
export class DemoShow implements DemoWatcher {
	readonly #terminal: Terminal;
	readonly #json: boolean;
	readonly #startedAt = performance.now();
	#titles = new Map<string, string>();

	constructor(terminal: Terminal, json: boolean) {
		this.#terminal = terminal;
		this.#json = json;
	}

	expect(samples: readonly Sample[]): void {
		this.#titles = new Map(samples.map(({ id, title }) => [id, title]));
	}

	event(event: ExecutionEvent): void {
		const attempt = event.attempt === undefined ? "" : `attempt ${event.attempt}`;
		const reason = "reason" in event && event.reason ? oneLine(event.reason) : "";
		this.#tell(event.executionId, { event }, event.type, [attempt, reason].filter(Boolean).join(", "));
	}

	progress(executionId: string, percent: number, message: string): void {
		this.#tell(executionId, { progress: { executionId, percent, message } }, "progress", `${percent} %, ${message}`);
	}

	/** Results of samples are told with their history, behind the event that brought them. */
	result(executionId: string, value: unknown): void {
		if (!this.#titles.has(executionId)) this.sampleResult(executionId, value);
	}

	sampleResult(executionId: string, value: unknown): void {
		this.#tell(executionId, { result: { executionId, value } }, "result", oneLine(JSON.stringify(value)));
	}

	#tell(id: string, document: object, what: string, detail: string): void {
		if (this.#json) return this.#terminal.jsonLine(document);
		const since = `${((performance.now() - this.#startedAt) / 1000).toFixed(2)} s`.padStart(9);
		const whose = this.#titles.get(id) ?? id;
		const colour = COLOURS[what] ?? "cyan";
		const line = `${this.#terminal.style("dim", since)}  ${whose.padEnd(24)} ${this.#terminal.style(colour, what.padEnd(15))} ${detail}`;
		this.#terminal.print(line.trimEnd());
	}
}

const COLOURS: Record<string, "red" | "green"> = {
	lease_expired: "red",
	retry_scheduled: "red",
	failed: "red",
	completed: "green",
	result: "green",
};
