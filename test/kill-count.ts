import type { Reporter, UserConsoleLog } from "vitest/node";

/** How a test that kills processes begins the line it prints. */
const KILLS = /^(\d+) kills\b/gm;

/** Adds up how many processes were killed over all tests of a run. */
export default class KillCountReporter implements Reporter {
	#kills = 0;
	#tests = 0;

	onUserConsoleLog({ content }: UserConsoleLog): void {
		for (const [, count] of content.matchAll(KILLS)) {
			this.#kills += Number(count);
			this.#tests += 1;
		}
	}

	onTestRunEnd(): void {
		if (this.#tests > 0) console.log(`\n${this.#kills} processes were killed, in ${this.#tests} tests\n`);
	}
}
