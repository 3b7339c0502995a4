import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Heard } from "./cluster.ts";
import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";

/** Until engines that stood still go on, and others take over. */
export const MOST_MS = 30_000;

/** Asks one engine after the other until one has answered. */
export async function insist<T>(stage: Stage, question: (backend: LocalBackend) => Promise<T>): Promise<T> {
	const end = stage.world.time + MOST_MS;
	while (stage.world.time < end) {
		let heard: Heard<T> | undefined;
		stage.call(question, (answer) => {
			heard ??= answer;
		});
		await stage.until(() => heard !== undefined, 1500);
		const { kind } = heard ?? { kind: "unknown" };
		if (heard?.kind === "ok") return heard.value;
		if (kind === "refused") break;
		await stage.world.runUntil(stage.world.time + 200);
		stage.raise();
	}
	throw new Violation(`asked again and again, and got no answer: ${question}`);
}
