// Runes everywhere: state that is not declared as such would silently stop being reactive.
export default { compilerOptions: { runes: true } };
