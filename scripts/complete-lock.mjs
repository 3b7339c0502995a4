/**
 * Holds package-lock.json to the registry and adds the optional packages of other platforms that npm left out of it.
 * Without them `npm ci` refuses the lock file; with them every platform installs its own. Fails, and writes nothing,
 * when a native package is not published for one of the platforms we promise: there `npm ci` would pass over it without
 * a word, and the tests could not begin. Run after `npm install`; `--check` only tells.
 */
import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const PROMISED = {
	"linux-x64": { os: "linux", cpu: "x64", libc: "glibc" },
	"linux-arm64": { os: "linux", cpu: "arm64", libc: "glibc" },
	"darwin-arm64": { os: "darwin", cpu: "arm64" },
	"win32-x64": { os: "win32", cpu: "x64" },
};

const SYSTEMS = ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "aix", "win32"];
const PROCESSORS = ["arm64", "arm", "x64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32"];
const LIBRARIES = { musl: "musl", musleabihf: "musl", gnu: "glibc", gnueabihf: "glibc" };

const file = new URL("../package-lock.json", import.meta.url);
const before = readFileSync(file, "utf8");
const lock = JSON.parse(before);
const registry = execSync("npm config get registry --loglevel=error", { encoding: "utf8" }).trim().replace(/\/*$/, "/");
const check = process.argv.includes("--check");
const faults = [];
const bringsMore = [];

async function published(name, version) {
	const reply = await fetch(`${registry}${name.replace("/", "%2f")}/${version}`);
	if (reply.status === 404) return undefined;
	if (!reply.ok) throw new Error(`the registry answered ${reply.status} for ${name} ${version}`);
	const manifest = await reply.json();
	return manifest.dist?.integrity ? manifest : undefined;
}

/** What the name of a package says. Only for packages that the registry does not have, and that nobody is promised. */
function guessed(name) {
	if (name === "fsevents") return { os: ["darwin"] };
	const words = name.split(/[-/]/);
	const system = words.filter((word) => SYSTEMS.includes(word));
	const processor = words.filter((word) => PROCESSORS.includes(word));
	const library = Object.keys(LIBRARIES).find((word) => words.includes(word));
	return {
		cpu: processor.length > 0 ? processor : undefined,
		os: system.length > 0 ? system : undefined,
		libc: library ? [LIBRARIES[library]] : undefined,
	};
}

/** Where the package at `path` finds `name`, as Node looks for it; beside it if that is not the version it asks for. */
function placeOf(path, name, range) {
	for (let above = path; above; above = above.slice(0, Math.max(0, above.lastIndexOf("/node_modules/")))) {
		const place = `${above}/node_modules/${name}`;
		if (lock.packages[place]) return place;
	}
	const top = lock.packages[`node_modules/${name}`];
	const another = top && /^\d/.test(range) && top.version !== range;
	return another ? `${path}/node_modules/${name}` : `node_modules/${name}`;
}

/** Puts one optional package into the lock, as the registry tells of it. */
async function complete(path, parent, name, range) {
	const place = placeOf(path, name, range);
	const entry = lock.packages[place];
	const version = entry?.version ?? range.replace(/^[\^~]/, "");
	const manifest = await published(name, version);
	const integrity = manifest?.dist.integrity;
	if (entry?.integrity && integrity && entry.integrity !== integrity)
		faults.push(`${name} ${version}: the registry has another integrity than the lock`);
	const known = entry?.integrity ? entry : undefined;
	const { cpu, os, libc } = manifest ?? known ?? guessed(name);
	// The order is npm's, so that it has nothing to change afterwards.
	const { license, dependencies, engines } = manifest ?? {};
	const added = { version, integrity, cpu, dev: parent.dev, libc, license, optional: true, os, dependencies, engines };
	lock.packages[place] = { ...(known ?? added), cpu, libc, os };
	if (!known && dependencies) bringsMore.push(name);
	return { name, version, cpu, os, libc, manifest };
}

function serves({ os, cpu, libc }, platform) {
	return os?.includes(platform.os) && cpu?.includes(platform.cpu) && (!libc || libc.includes(platform.libc));
}

const rows = [["package", "version", ...Object.keys(PROMISED)]];
let unknown = 0;
for (const [path, parent] of Object.entries(lock.packages)) {
	// Whoever wrote the lock: it names no registry, npm asks the one it is set to.
	delete parent.resolved;
	const optional = Object.entries(parent.optionalDependencies ?? {});
	const natives = await Promise.all(optional.map(([name, range]) => complete(path, parent, name, range)));
	unknown += natives.filter(({ manifest }) => !manifest).length;
	if (!natives.some((native) => serves(native, PROMISED["linux-x64"]))) continue;
	const family = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
	const cells = Object.entries(PROMISED).map(([label, platform]) => {
		const serving = natives.filter((native) => serves(native, platform));
		const missing = serving.filter(({ manifest }) => !manifest);
		for (const { name, version } of missing) faults.push(`${label}: the registry has no ${name} ${version}`);
		if (serving.length === 0) faults.push(`${label}: ${family} ${parent.version} names no package for it`);
		return serving.length > 0 && missing.length === 0 ? "yes" : "MISSING";
	});
	rows.push([family, parent.version, ...cells]);
}

const byName = new Intl.Collator("en").compare;
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => byName(a, b)));
const after = `${JSON.stringify(lock, null, "\t")}\n`;
if (check && faults.length === 0 && after !== before)
	faults.push("the lock is not what the registry says: run `npm run lock`");

const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
for (const row of rows) process.stdout.write(`${row.map((cell, i) => cell.padEnd(widths[i])).join("  ")}\n`);
process.stdout.write(`optional packages that the registry does not have: ${unknown}\n`);

if (faults.length > 0) {
	process.stderr.write(`\n${faults.join("\n")}\n`);
	process.exitCode = 1;
} else if (!check) {
	writeFileSync(file, after);
	if (bringsMore.length > 0)
		process.stdout.write(`run \`npm install\` again, for what these depend on: ${bringsMore.join(", ")}\n`);
}
