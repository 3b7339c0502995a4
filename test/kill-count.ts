import type { Reporter, TestModule } from "vitest/node";

declare module "vitest" {
	interface TaskMeta {
		/** How many processes the test killed. */
		kills?: number;
	}
}

/** Adds up how many processes were killed over all tests of a run. */
export default class KillCountReporter implements Reporter {
	onTestRunEnd(modules: readonly TestModule[]): void {
		const counts = modules.flatMap((module) =>
			[...module.children.allTests()].flatMap((test) => test.meta().kills ?? []),
		);
		const kills = counts.reduce((sum, count) => sum + count, 0);
		if (kills > 0) console.log(`\n${kills} processes were killed, in ${counts.length} tests\n`);
	}
}
