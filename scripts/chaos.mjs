/**
 * npm run chaos: the long form of the tests that kill, fill, damage and attack. The tests themselves are those of
 * `npm test`, where the same settings are small.
 */
import { spawnSync } from "node:child_process";

const SETTINGS = {
	FF_KILLS: 50,
	FF_STORM_KILLS: 20,
	FF_STEP_KILLS: 20,
	FF_FLOW_KILLS: 10,
	FF_CHILDREN_KILLS: 10,
	FF_FAULT_KILLS: 20,
	FF_FAULT_PAUSE_MS: 40_000,
	FF_FAULT_FULL: 5,
	FF_FAULT_ROUNDS: 10,
	FF_HISTORY_MOVES: 200_000,
	FF_HISTORY_COMMANDS: 200_000,
	FF_AUDIT_EXECUTIONS: 100_000,
	FF_WIDEST: 1,
	FF_ABUSE_REQUESTS: 500_000,
	FF_ABUSE_STORES: "sqlite,valkey",
	FF_ABUSE_TIMES: "judged",
};

/** The attack measures how long a neighbour waits, so nothing else runs beside it. What kills nobody comes last. */
const RUNS = [
	["test/server/abuse.test.ts"],
	[
		"test/e2e/children-kill.test.ts",
		"test/e2e/faults-damage.test.ts",
		"test/e2e/faults-full.test.ts",
		"test/e2e/faults-processes.test.ts",
		"test/e2e/flow-kill.test.ts",
		"test/e2e/kill.test.ts",
		"test/e2e/steps-kill.test.ts",
		"test/e2e/storm.test.ts",
		"test/valkey",
	],
	["test/conformance/public-widest"],
];

const settings = Object.fromEntries(Object.entries(SETTINGS).map(([name, value]) => [name, String(value)]));
/** What the caller sets counts: a part of it can be made shorter, or longer still. */
const env = { ...settings, ...process.env };
const statuses = RUNS.map((files) => spawnSync("vitest", ["run", ...files], { env, stdio: "inherit" }).status ?? 1);
process.exitCode = Math.max(...statuses);
