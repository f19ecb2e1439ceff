/** The pages of the documentation, as a build writes them: a gateway within this process serves them, too. */
import { writePages } from '../../build/write-pages.js';

export default writePages;
