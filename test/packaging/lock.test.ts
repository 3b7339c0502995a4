import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Entry {
	version: string;
	integrity?: string;
	resolved?: string;
	dev?: boolean;
	os?: string[];
	cpu?: string[];
	libc?: string[];
	engines?: { node?: string };
	optionalDependencies?: Record<string, string>;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));
const packages: Record<string, Entry> = read("package-lock.json").packages;

function compare(version: readonly number[], other: readonly number[]): number {
	for (const [i, number] of other.entries()) if (version[i] !== number) return (version[i] ?? 0) - number;
	return 0;
}

/** Whether one part of a range admits a version. What is left out of a number, or is an x, stands for anything. */
function holds(part: string, version: readonly number[]): boolean {
	const found = /^(>=|<=|>|<|=|\^|~)?(\d+(?:\.[\dx]+)*|\*)$/.exec(part);
	if (!found) throw new Error(`a range this test cannot read: ${part}`);
	const given = [...(found[2] as string).matchAll(/\d+/g)].map(Number);
	const order = compare(version, given);
	if (found[1] === ">=") return order >= 0;
	if (found[1] === "<=") return order <= 0;
	if (found[1] === ">") return order > 0;
	if (found[1] === "<") return order < 0;
	if (found[1] === "^") return order >= 0 && version[0] === given[0];
	if (found[1] === "~") return order >= 0 && compare(version, given.slice(0, 2)) === 0;
	return order === 0;
}

function admits(range: string, version: readonly number[]): boolean {
	const alternatives = range.split("||").map((parts) =>
		parts
			.replace(/([<>=^~])\s+/g, "$1")
			.trim()
			.split(/\s+/),
	);
	return alternatives.map((parts) => parts.map((part) => holds(part, version)).every(Boolean)).some(Boolean);
}

test("ranges are read as npm reads them", () => {
	const admitted = ["*", ">=20", ">= 0.8", "20.x || 22.x", "^20.19.0 || >=22.12.0", ">=16 <21", "~20.19", "<=20", "20"];
	const refused = [
		">=22",
		"18 || 22",
		"^20.20.0 || >=22.12.0",
		">=16 <20",
		"~20.18",
		"<20",
		"14 >=14.17",
		">20",
		"^18",
	];
	expect(admitted.filter((range) => !admits(range, [20, 19, 0]))).toEqual([]);
	expect(refused.filter((range) => admits(range, [20, 19, 0]))).toEqual([]);
	expect(() => admits("18 - 20", [20, 19, 0])).toThrow("cannot read");
});

/**
 * Who installs our package has neither our lock nor our overrides. So what our dependencies would take too new is a
 * dependency of ours as well, though we never import it: `light-my-request` for `fastify`. npm then takes ours.
 */
test("everything installed with the package runs on the oldest Node it promises", () => {
	const { engines } = read("package.json");
	expect(engines.node).toBe(">=20.19");
	const tooNew = Object.entries(packages)
		.filter(([, { dev, engines }]) => !dev && !admits(engines?.node ?? "*", [20, 19, 0]))
		.map(([path, { version, engines }]) => `${path} ${version} wants ${engines?.node}`);
	expect(tooNew).toEqual([]);
});

test("the lock names no registry", () => {
	expect(Object.keys(packages).filter((path) => packages[path]?.resolved)).toEqual([]);
});

/** An entry has its integrity from the registry: one without it was never seen there, and `npm ci` would pass over it. */
describe("native packages are locked as published for every platform promised", () => {
	const platforms = { "linux-x64": "glibc", "linux-arm64": "glibc", "darwin-arm64": "", "win32-x64": "" };

	/** What serves a platform, of the packages that another asks for, at the version it asks for. */
	function serving(parent: Entry, platform: string, libc: string): [string, Entry][] {
		const [os = "", cpu = ""] = platform.split("-");
		const asked = Object.entries(parent.optionalDependencies ?? {});
		return Object.entries(packages).filter(
			([path, entry]) =>
				asked.some(([name, version]) => path.endsWith(`node_modules/${name}`) && entry.version === version) &&
				entry.os?.includes(os) &&
				entry.cpu?.includes(cpu) &&
				(!entry.libc || entry.libc.includes(libc)),
		);
	}

	const natives = Object.entries(packages).filter(([, parent]) => serving(parent, "linux-x64", "glibc").length > 0);

	test("there are some", () => {
		expect(natives.map(([path]) => path)).toContain("node_modules/rolldown");
	});

	test.each(natives)("%s", (_path, parent) => {
		for (const [platform, libc] of Object.entries(platforms)) {
			const entries = serving(parent, platform, libc);
			expect(entries, platform).not.toEqual([]);
			const unseen = entries.filter(([, { integrity }]) => !integrity);
			expect(unseen.map(([path, { version }]) => `${path} ${version}`)).toEqual([]);
		}
	});
});
