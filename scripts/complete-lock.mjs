/**
 * Adds to package-lock.json the optional packages of other platforms that a partial mirror of the registry could not tell
 * of. Without them `npm ci` refuses the lock file; with them every platform installs its own. Run after `npm install`.
 */
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = [
	"android",
	"darwin",
	"freebsd",
	"linux",
	"netbsd",
	"openbsd",
	"openharmony",
	"sunos",
	"aix",
	"win32",
	"wasi",
];
const PROCESSORS = ["arm64", "arm", "x64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32"];
const LIBRARIES = { musl: "musl", musleabihf: "musl", gnu: "glibc", gnueabihf: "glibc" };

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

function platformOf(name) {
	if (name === "fsevents") return { os: ["darwin"] };
	const words = name.split(/[-/]/);
	const found = (from) => words.filter((word) => from.includes(word));
	const system = found(SYSTEMS).filter((word) => word !== "wasi");
	const processor = found(PROCESSORS);
	const library = Object.keys(LIBRARIES).find((word) => words.includes(word));
	return {
		...(processor.length > 0 ? { cpu: processor } : undefined),
		...(system.length > 0 ? { os: system } : undefined),
		...(library ? { libc: [LIBRARIES[library]] } : undefined),
	};
}

let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
	for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
		const version = range.replace(/^[\^~]/, "");
		const places = [`${path}/node_modules/${name}`, `node_modules/${name}`];
		if (places.some((place) => lock.packages[place])) continue;
		lock.packages[`node_modules/${name}`] = {
			version,
			optional: true,
			...(entry.dev ? { dev: true } : undefined),
			...platformOf(name),
		};
		added += 1;
	}
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, "\t")}\n`);
process.stdout.write(`${added} optional packages added\n`);
