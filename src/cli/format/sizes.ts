const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** `512 bytes`, `4.2 KB`, `17 MB`. */
export function bytesText(bytes: number): string {
	let size = bytes;
	let unit = 0;
	while (size >= 1000 && unit < UNITS.length - 1) {
		size /= 1000;
		unit += 1;
	}
	return `${unit > 0 && size < 10 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}
