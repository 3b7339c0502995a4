import type { Reporter, TestCase, TestModule } from "vitest/node";

const EVERY_MS = 120_000;

/** Says from time to time what a file that takes long is at: should a run never end, its output tells where. */
export default class StillRunningReporter implements Reporter {
	readonly #running = new Map<TestModule, { since: number; ended: number; at?: TestCase }>();
	#timer: NodeJS.Timeout | undefined;

	onTestRunStart(): void {
		this.#timer = setInterval(() => this.#tell(), EVERY_MS).unref();
	}

	onTestModuleStart(module: TestModule): void {
		this.#running.set(module, { since: performance.now(), ended: 0 });
	}

	onTestCaseReady(test: TestCase): void {
		const running = this.#running.get(test.module);
		if (running) running.at = test;
	}

	onTestCaseResult(test: TestCase): void {
		const running = this.#running.get(test.module);
		if (running) running.ended += 1;
	}

	onTestModuleEnd(module: TestModule): void {
		this.#running.delete(module);
	}

	onTestRunEnd(): void {
		clearInterval(this.#timer);
	}

	#tell(): void {
		for (const [module, { since, ended, at }] of this.#running) {
			const seconds = Math.round((performance.now() - since) / 1000);
			console.log(`${module.relativeModuleId}: ${seconds} s, ${ended} tests ended, now: ${at?.fullName}`);
		}
	}
}
