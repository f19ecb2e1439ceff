/** The pages of the documentation, as a build writes them: a gateway within this process serves them, too. */
import { writePages } from '../../docs/build/write-pages.js';

export default writePages;
