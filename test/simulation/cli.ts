import { parseArgs } from "node:util";
import { plantedBugs, plantedFlowBugs, simulate, simulateFlows } from "./simulate.ts";

/** npm run simulate -- [--seeds 20000] [--from 1] [--steps 300] [--bug "name or its beginning"] [--flows] */
const { values } = parseArgs({
	options: {
		seeds: { type: "string", default: "20000" },
		from: { type: "string", default: "1" },
		steps: { type: "string", default: "300" },
		bug: { type: "string" },
		flows: { type: "boolean", default: false },
	},
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const steps = Number(values.steps);
const planted = values.flows ? plantedFlowBugs : plantedBugs;
const bugName =
	values.bug === undefined ? undefined : Object.keys(planted).find((name) => name.includes(values.bug ?? ""));
if (values.bug !== undefined && bugName === undefined)
	throw new Error(`--bug: must be one of ${Object.keys(planted).join("; ")}`);
const bugs = bugName === undefined ? {} : planted[bugName];

const run = values.flows ? simulateFlows : simulate;

/** After so many there is more to be gained by looking at them than by finding others. */
const MOST_FINDINGS = 10;

const startedAt = performance.now();
let findings = 0;
for (let seed = from; seed < from + seeds; seed++) {
	const finding = await run(seed, steps, bugs);
	if (finding && bugName !== undefined && !finding.isViolation) {
		process.stdout.write(`seed ${seed} broke down without a violation: ${finding.error.message}\n`);
	} else if (finding) {
		process.stdout.write(`\nseed ${seed} of ${steps} steps: ${finding.error.message}\n`);
		process.stdout.write(
			`again: npm run simulate -- --from ${seed} --seeds 1 --steps ${steps}${values.flows ? " --flows" : ""}${bugName ? ` --bug "${bugName}"` : ""}\n`,
		);
		if (!finding.isViolation) process.stdout.write(`${finding.error.stack}\n`);
		findings += 1;
		if (findings === MOST_FINDINGS) {
			process.stdout.write(`\n${findings} seeds failed; ${seed - from + 1} of ${seeds} were run\n`);
			process.exit(1);
		}
	}
	const done = seed - from + 1;
	if (process.stdout.isTTY && done % 20 === 0) process.stdout.write(`\r${done}/${seeds} seeds`);
	else if (done % 500 === 0) process.stdout.write(`${done}/${seeds} seeds\n`);
}
const seconds = (performance.now() - startedAt) / 1000;
const found = findings === 0 ? " without violation" : `, failed seeds: ${findings}`;
process.stdout.write(`\n${seeds} seeds × ${steps} steps${found} (${seconds.toFixed(1)} s)\n`);
if (findings > 0) process.exitCode = 1;
