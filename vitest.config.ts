import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		globalSetup: "./test/build-first.ts",
		// For a machine that is three times as slow and has other things to do.
		testTimeout: 180_000,
		hookTimeout: 60_000,
		// What is broken for a whole suite, as its server, would otherwise be waited for once per case.
		bail: 10,
		maxWorkers: 2,
		// Loading the product anew for every file took as long as all but the longest suites.
		isolate: false,
		sequence: { sequencer: LongestFirst },
		reporters: ["default", "./test/conformance/case-count.ts", "./test/still-running.ts", "./test/kill-count.ts"],
	},
});
