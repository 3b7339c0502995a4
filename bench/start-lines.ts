import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";

/** Fewer tell nothing: starting a process differs by a third from one time to the next. */
const LEAST_ROUNDS = 10;

/** Tells what the process has used when it ends, on its standard error. */
const TELL_CPU = `data:text/javascript,process.on("exit",()=>{const{user,system}=process.cpuUsage();process.stderr.write("cpu "+(user+system)+"\\n")})`;

const root = fileURLToPath(new URL("../..", import.meta.url));
const importing = (name: string): string[] => ["--input-type=module", "-e", `await import(${JSON.stringify(name)})`];
const cli = (flag: string): string[] => ["dist/cli/main.js", flag];

const PROGRAMS = {
	"bare node": ["-e", "0"],
	"import bullmq": importing("bullmq"),
	"import flowfabric": importing("flowfabric"),
	"import flowfabric/testing": importing("flowfabric/testing"),
	"import flowfabric/server": importing("flowfabric/server"),
	"flowfabric --version": cli("--version"),
	"flowfabric --help": cli("--help"),
} as const;
type Name = keyof typeof PROGRAMS;

/** What each is held against, and what is aimed at. */
const AGAINST: [name: Name, other: Name, wanted?: string][] = [
	["import flowfabric", "import bullmq", "≤ 1"],
	["import flowfabric/testing", "import bullmq"],
	["import flowfabric/server", "import bullmq"],
	["flowfabric --version", "bare node", "≤ 2"],
	["flowfabric --help", "bare node"],
];

/** CPU time of a process from its start to its end, user and system; each program takes its turn in every round. */
export function startLines(rounds: number, progress: (text: string) => void): Line[] {
	const used = new Map<Name, number[]>();
	const names = Object.keys(PROGRAMS) as Name[];
	for (let round = 0; round < Math.max(rounds, LEAST_ROUNDS); round++) {
		for (const name of names) used.set(name, [...(used.get(name) ?? []), cpuMsOf(PROGRAMS[name])]);
		progress(
			`  round ${round + 1}: ${names.map((name) => `${name} ${used.get(name)?.at(-1)?.toFixed(0)}`).join(", ")}`,
		);
	}
	const figureOf = (name: Name) => median(used.get(name) ?? []);
	return AGAINST.map(([scenario, name, wanted]) => {
		const figure = figureOf(scenario);
		const other = figureOf(name);
		const against = { name, figure: other, ratio: figure / other, ...(wanted ? { wanted } : undefined) };
		return { scenario, store: "none", partitions: 0, figure, unit: "ms CPU", against };
	});
}

function cpuMsOf(args: readonly string[]): number {
	const told = execFileSync(
		"sh",
		["-c", '"$0" "$@" 2>&1 >/dev/null', process.execPath, "--import", TELL_CPU, ...args],
		{
			cwd: root,
			encoding: "utf8",
		},
	);
	return Number(/^cpu (\d+)$/m.exec(told)?.[1]) / 1000;
}
