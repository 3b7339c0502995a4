import { describe, it } from "vitest";
import { suiteTitle } from "./case-count.ts";
import type { PublicRow } from "./public-rows.ts";
import { type PublicCase, Scene } from "./scene.ts";

export type Subjects = Record<string, (test: PublicCase) => void>;

/** What users are promised, as cases against one way to reach FlowFabric. No case may ask which one it is. */
export function publicSuite(suite: string, row: PublicRow, subjects: Subjects): void {
	describe(suiteTitle(suite, row.name), () => {
		for (const [subject, register] of Object.entries(subjects)) {
			describe(subject, () => {
				register((name, run, settings) => {
					it(name, async () => {
						const scene = await Scene.open(row, settings);
						try {
							await run(scene);
						} finally {
							await scene.discard();
						}
					});
				});
			});
		}
	});
}
